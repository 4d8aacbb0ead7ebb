// Proofs about lengths: what `require` says and what exact quotients are, used to show that two
// lengths are equal.
//
// Three answers. Proved: equal for all numbers that the file may give. Refuted: the unknowns that
// make the difference are given independently by the file, and nothing ties them together. Open:
// something ties them, but not visibly; numbers decide it at binding (where every length is a
// constant and nothing is ever open).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ops/polynomial.h"

namespace etch {

enum class Answer : uint8_t { refuted, proved, open };

class Proof {
 public:
  // Call set_dependent first: what is equal to a dependent unknown is one.
  void assume_equal(const Polynomial& a, const Polynomial& b);
  // b divides a: the quotient is an unknown q with q*b = a, printed as "a / b" or with the name
  // given.
  Polynomial assume_divides(const Polynomial& a, const Polynomial& b,
                            const Unknown* named = nullptr);
  // The value of this unknown hangs on others: a default, a chosen arm, a rounded quotient.
  void set_dependent(const Unknown& unknown) { dependent_.insert(unknown); }
  bool is_dependent(const Unknown& unknown) const { return dependent_.contains(unknown); }

  Answer equal(const Polynomial& a, const Polynomial& b) const;
  Polynomial normal(Polynomial p) const;
  // a / b where it is known to come out even.
  bool quotient(const Polynomial& a, const Polynomial& b, Polynomial& out) const;
  // The same, or an unknown that stands for it; `even` says which.
  Polynomial quotient_or_unknown(const Polynomial& a, const Polynomial& b, bool& even);

 private:
  struct Rule {  // the product of these unknowns is that polynomial
    std::vector<Unknown> factors;
    Polynomial value;
  };
  struct Quotient {
    Polynomial a, b;
    Unknown q;
  };
  std::vector<Rule> rules_;
  std::vector<Quotient> quotients_;
  std::set<Unknown> dependent_;
};

}  // namespace etch
