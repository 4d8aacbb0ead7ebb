#include "ops/proof.h"

#include <algorithm>

#include <fmt/core.h>

namespace etch {
namespace {

constexpr int kMostRewrites = 200;
constexpr int kQuotientOrder = 1 << 20;  // printed behind dims

}  // namespace

void Proof::assume_equal(const Polynomial& a, const Polynomial& b) {
  const Polynomial difference = normal(a - b);
  if (difference.overflowed() || difference.is_constant()) return;
  bool dependent = false;
  for (const Term& t : difference.terms())
    for (const Unknown& u : t.factors) dependent = dependent || dependent_.contains(u);
  if (dependent)
    for (const Term& t : difference.terms())
      for (const Unknown& u : t.factors) dependent_.insert(u);
  // An unknown that stands alone with coefficient one or minus one is what the rest says; the one
  // defined last goes.
  const Term* best = nullptr;
  for (const Term& t : difference.terms()) {
    if (t.factors.size() != 1 || (t.coefficient != 1 && t.coefficient != -1)) continue;
    const Polynomial rest = difference - Polynomial::of_terms({t}, 0, false);
    if (rest.contains(t.factors[0])) continue;
    if (best == nullptr || best->factors[0] < t.factors[0]) best = &t;
  }
  if (best != nullptr) {
    const Polynomial rest = difference - Polynomial::of_terms({*best}, 0, false);
    rules_.push_back({best->factors, best->coefficient == 1 ? -rest : rest});
    return;
  }
  // Nothing to rewrite with: these unknowns are tied together in a way that is not used here.
  for (const Term& t : difference.terms())
    for (const Unknown& u : t.factors) dependent_.insert(u);
}

Polynomial Proof::assume_divides(const Polynomial& a, const Polynomial& b, const Unknown* named) {
  Polynomial known;
  if (quotient(a, b, known)) {
    if (named == nullptr) return known;
    assume_equal(Polynomial(*named), known);
    return Polynomial(*named);
  }
  const auto side = [](const Polynomial& p) {
    const std::string s = p.print();
    return s.find(' ') == std::string::npos && (p.is_constant() || p.single() != nullptr)
               ? s
               : "(" + s + ")";
  };
  const Unknown q =
      named != nullptr ? *named : Unknown{kQuotientOrder, fmt::format("{} / {}", side(a), side(b))};
  quotients_.push_back({normal(a), normal(b), q});
  // q times a single unknown is a.
  if (b.single() != nullptr) {
    Rule r{{q, *b.single()}, a};
    std::sort(r.factors.begin(), r.factors.end());
    rules_.push_back(std::move(r));
  } else {
    dependent_.insert(q);
  }
  return Polynomial(q);
}

Polynomial Proof::normal(Polynomial p) const {
  if (p.is_constant()) return p;
  std::vector<Unknown> rest;
  for (int turn = 0; turn < kMostRewrites && !p.overflowed(); ++turn) {
    bool changed = false;
    for (const Term& t : p.terms()) {
      for (const Rule& r : rules_) {
        if (!without_factors(t.factors, r.factors, rest)) continue;
        const Polynomial left = Polynomial::of_terms({{rest, t.coefficient}}, 0, false);
        p = p - Polynomial::of_terms({t}, 0, false) + left * r.value;
        changed = true;
        break;
      }
      if (changed) break;
    }
    if (!changed) break;
  }
  return p;
}

Answer Proof::equal(const Polynomial& a, const Polynomial& b) const {
  if (a.overflowed() || b.overflowed()) return Answer::open;
  if (a == b) return Answer::proved;
  const Polynomial difference = normal(a - b);
  if (difference.overflowed()) return Answer::open;
  if (difference == Polynomial(0)) return Answer::proved;
  for (const Term& t : difference.terms())
    for (const Unknown& u : t.factors)
      if (dependent_.contains(u)) return Answer::open;
  return Answer::refuted;
}

bool Proof::quotient(const Polynomial& a_in, const Polynomial& b_in, Polynomial& out) const {
  const Polynomial a = normal(a_in), b = normal(b_in);
  if (a.overflowed() || b.overflowed() || b == Polynomial(0)) return false;
  if (divide_exactly(a, b, out)) return true;
  // Term by term: what b divides, or a known quotient by b.
  Polynomial sum;
  bool all = true;
  const auto add_piece = [&](const Polynomial& term) {
    Polynomial piece;
    if (divide_exactly(term, b, piece)) {
      sum = sum + piece;
      return true;
    }
    for (const Quotient& q : quotients_)
      if (normal(q.b) == b && divide_exactly(term, normal(q.a), piece)) {
        sum = sum + piece * Polynomial(q.q);
        return true;
      }
    return false;
  };
  for (const Term& t : a.terms()) all = all && add_piece(Polynomial::of_terms({t}, 0, false));
  if (a.constant() != 0) all = all && add_piece(Polynomial(a.constant()));
  if (all) {
    out = sum;
    return true;
  }
  // By a quotient q = A/B: P/q = P*B/A.
  if (b.single() != nullptr)
    for (const Quotient& q : quotients_)
      if (q.q == *b.single() && divide_exactly(normal(a * q.b), normal(q.a), out)) return true;
  // Several factors: one after another.
  if (b.terms().size() == 1 && b.constant() == 0 && b.terms()[0].factors.size() > 1) {
    Polynomial left = a, next;
    for (const Unknown& u : b.terms()[0].factors) {
      if (!quotient(left, Polynomial(u), next)) return false;
      left = next;
    }
    return divide_exactly(left, Polynomial(b.terms()[0].coefficient), out);
  }
  return false;
}

Polynomial Proof::quotient_or_unknown(const Polynomial& a, const Polynomial& b, bool& even) {
  Polynomial out;
  even = quotient(a, b, out);
  if (even) return out;
  const Polynomial q = assume_divides(a, b);
  if (q.single() != nullptr) dependent_.insert(*q.single());
  return q;
}

}  // namespace etch
