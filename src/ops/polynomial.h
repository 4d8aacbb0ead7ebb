// Lengths as polynomials with integer coefficients over unknowns: 2*d_key + d_val. Kept in normal
// form (terms sorted, equal ones joined, zeros dropped), so that two polynomials are the same
// function exactly if they are equal here. A number is a constant polynomial: the rules that prove
// a circuit with letters prove it again with numbers.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace etch {

// A name for a number not known yet. `order` only decides where it is printed: dims in the order of
// their definition.
struct Unknown {
  int order = 0;
  std::string name;
  auto operator<=>(const Unknown&) const = default;
};

struct Term {
  std::vector<Unknown> factors;  // sorted; with repetition: d*d
  int64_t coefficient = 0;
  bool operator==(const Term&) const = default;
};

class Polynomial {
 public:
  Polynomial(int64_t constant = 0) : constant_(constant) {}
  explicit Polynomial(Unknown unknown);

  bool is_constant() const { return terms_.empty(); }
  int64_t constant() const { return constant_; }             // the term without unknowns
  const std::vector<Term>& terms() const { return terms_; }  // the others
  // A single unknown with coefficient one, else null.
  const Unknown* single() const;
  bool contains(const Unknown& unknown) const;

  // What does not fit int64, and what has grown past any sensible length (hostile circuits), is
  // marked and stays so.
  bool overflowed() const { return overflowed_; }

  Polynomial operator-() const;
  friend Polynomial operator+(const Polynomial& a, const Polynomial& b);
  friend Polynomial operator-(const Polynomial& a, const Polynomial& b);
  friend Polynomial operator*(const Polynomial& a, const Polynomial& b);
  bool operator==(const Polynomial&) const = default;

  std::string print() const;  // "n_heads*d_head", "2*d_key + d_val", "d - 1"

  // Sum of terms in any order.
  static Polynomial of_terms(std::vector<Term> terms, int64_t constant, bool overflowed);

 private:
  int64_t constant_ = 0;
  std::vector<Term> terms_;
  bool overflowed_ = false;
};

// The quotient if b divides a without knowing more than the letters; both not overflowed, b not
// zero.
bool divide_exactly(const Polynomial& a, const Polynomial& b, Polynomial& quotient);

// The factors of a that are left when those of b are taken out; false if they are not all there.
bool without_factors(const std::vector<Unknown>& a, const std::vector<Unknown>& b,
                     std::vector<Unknown>& rest);

}  // namespace etch
