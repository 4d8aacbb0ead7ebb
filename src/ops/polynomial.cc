#include "ops/polynomial.h"

#include <algorithm>

#include <fmt/core.h>

namespace etch {
namespace {

constexpr size_t kMostTerms = 100;
constexpr size_t kMostFactors = 24;

int64_t add(int64_t a, int64_t b, bool& overflowed) {
  int64_t r = 0;
  if (__builtin_add_overflow(a, b, &r)) overflowed = true;
  return r;
}
int64_t multiply(int64_t a, int64_t b, bool& overflowed) {
  int64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r)) overflowed = true;
  return r;
}

std::string print_factors(const std::vector<Unknown>& factors) {
  std::string s;
  for (const Unknown& u : factors) {
    // A name that is itself an expression ("d_inner / n_mem") is bracketed beside others.
    const bool bracket = factors.size() > 1 && u.name.find(' ') != std::string::npos;
    s += fmt::format("{}{}{}{}", s.empty() ? "" : "*", bracket ? "(" : "", u.name,
                     bracket ? ")" : "");
  }
  return s;
}

}  // namespace

Polynomial::Polynomial(Unknown unknown) { terms_.push_back({{std::move(unknown)}, 1}); }

const Unknown* Polynomial::single() const {
  const bool one = constant_ == 0 && terms_.size() == 1 && terms_[0].coefficient == 1 &&
                   terms_[0].factors.size() == 1;
  return one ? &terms_[0].factors[0] : nullptr;
}

bool Polynomial::contains(const Unknown& unknown) const {
  for (const Term& t : terms_)
    if (std::find(t.factors.begin(), t.factors.end(), unknown) != t.factors.end()) return true;
  return false;
}

Polynomial Polynomial::of_terms(std::vector<Term> terms, int64_t constant, bool overflowed) {
  Polynomial p(constant);
  p.overflowed_ = overflowed;
  std::sort(terms.begin(), terms.end(),
            [](const Term& a, const Term& b) { return a.factors < b.factors; });
  for (Term& t : terms) {
    if (t.factors.empty()) {
      p.constant_ = add(p.constant_, t.coefficient, p.overflowed_);
    } else if (!p.terms_.empty() && p.terms_.back().factors == t.factors) {
      p.terms_.back().coefficient = add(p.terms_.back().coefficient, t.coefficient, p.overflowed_);
    } else {
      p.terms_.push_back(std::move(t));
    }
    if (!p.terms_.empty() && p.terms_.back().coefficient == 0) p.terms_.pop_back();
  }
  if (p.terms_.size() > kMostTerms) {
    p.terms_.clear();
    p.overflowed_ = true;
  }
  return p;
}

Polynomial Polynomial::operator-() const { return Polynomial(0) - *this; }

Polynomial operator+(const Polynomial& a, const Polynomial& b) {
  bool overflowed = a.overflowed_ || b.overflowed_;
  const int64_t constant = add(a.constant_, b.constant_, overflowed);
  std::vector<Term> terms = a.terms_;
  terms.insert(terms.end(), b.terms_.begin(), b.terms_.end());
  return Polynomial::of_terms(std::move(terms), constant, overflowed);
}

Polynomial operator-(const Polynomial& a, const Polynomial& b) { return a + b * Polynomial(-1); }

Polynomial operator*(const Polynomial& a, const Polynomial& b) {
  bool overflowed = a.overflowed_ || b.overflowed_;
  std::vector<Term> terms;
  for (const Term& t : a.terms_)
    terms.push_back({t.factors, multiply(t.coefficient, b.constant_, overflowed)});
  for (const Term& t : b.terms_)
    terms.push_back({t.factors, multiply(t.coefficient, a.constant_, overflowed)});
  for (const Term& s : a.terms_)
    for (const Term& t : b.terms_) {
      Term product{s.factors, multiply(s.coefficient, t.coefficient, overflowed)};
      product.factors.insert(product.factors.end(), t.factors.begin(), t.factors.end());
      if (product.factors.size() > kMostFactors) {
        overflowed = true;
        continue;
      }
      std::sort(product.factors.begin(), product.factors.end());
      terms.push_back(std::move(product));
    }
  const int64_t constant = multiply(a.constant_, b.constant_, overflowed);
  return Polynomial::of_terms(std::move(terms), constant, overflowed);
}

std::string Polynomial::print() const {
  if (overflowed_) return "(too large)";
  std::string s;
  std::vector<Term> ordered = terms_;  // what is taken away stands last
  std::stable_partition(ordered.begin(), ordered.end(),
                        [](const Term& t) { return t.coefficient > 0; });
  for (const Term& t : ordered) {
    const bool negative = t.coefficient < 0;
    s += s.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    const uint64_t size =
        negative ? 0 - static_cast<uint64_t>(t.coefficient) : static_cast<uint64_t>(t.coefficient);
    if (size != 1) s += fmt::format("{}*", size);
    s += print_factors(t.factors);
  }
  if (s.empty()) return fmt::format("{}", constant_);
  if (constant_ > 0) s += fmt::format(" + {}", constant_);
  if (constant_ < 0) s += fmt::format(" - {}", 0 - static_cast<uint64_t>(constant_));
  return s;
}

bool without_factors(const std::vector<Unknown>& a, const std::vector<Unknown>& b,
                     std::vector<Unknown>& rest) {
  rest.clear();
  size_t j = 0;
  for (const Unknown& u : a) {
    if (j < b.size() && b[j] == u)
      ++j;
    else
      rest.push_back(u);
  }
  return j == b.size();
}

// Long division by the leading term. Terms are sorted by their factors, and multiplying both by the
// same factors does not keep that order, so this finds the quotients that occur (monomials, and
// sums that are multiples) and no more.
bool divide_exactly(const Polynomial& a, const Polynomial& b, Polynomial& quotient) {
  if (a.overflowed() || b.overflowed() || b == Polynomial(0)) return false;
  if (b.is_constant() && b.constant() == -1) {
    quotient = -a;
    return !quotient.overflowed();
  }
  const std::vector<Unknown> none;
  const std::vector<Unknown>& lead = b.is_constant() ? none : b.terms()[0].factors;
  const int64_t lead_coefficient = b.is_constant() ? b.constant() : b.terms()[0].coefficient;
  Polynomial rest = a, q;
  for (size_t turns = 0; turns <= kMostTerms && !(rest == Polynomial(0)); ++turns) {
    // The first term of the rest that the leading term divides.
    Term found;
    bool any = false;
    std::vector<Unknown> left;
    for (const Term& t : rest.terms())
      if (lead_coefficient != -1 && t.coefficient % lead_coefficient == 0 &&
          without_factors(t.factors, lead, left)) {
        found = {left, t.coefficient / lead_coefficient};
        any = true;
        break;
      }
    if (!any && lead.empty() && rest.is_constant() && rest.constant() % lead_coefficient == 0) {
      found = {{}, rest.constant() / lead_coefficient};
      any = true;
    }
    if (!any) return false;
    const Polynomial piece = Polynomial::of_terms({found}, 0, false);
    q = q + piece;
    rest = rest - piece * b;
    if (rest.overflowed() || q.overflowed()) return false;
  }
  quotient = q;
  return rest == Polynomial(0);
}

}  // namespace etch
