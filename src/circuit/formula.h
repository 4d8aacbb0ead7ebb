// Conditions over dims that are not decided yet: and, or, not over statements such as
// "recurrent(l)" or "l - n_dense < 0". What decides them is a file; without one, the checker asks
// whether some follow from others.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ops/proof.h"

namespace etch {

class Formula {
 public:
  enum class Kind : uint8_t { yes, no, atom, not_, and_, or_ };

  Formula(bool known = true) : kind_(known ? Kind::yes : Kind::no) {}
  static Formula atom(std::string text);
  static Formula is_negative(const Polynomial& p);  // the atom "p < 0"
  friend Formula operator!(const Formula& a);
  friend Formula operator&&(const Formula& a, const Formula& b);
  friend Formula operator||(const Formula& a, const Formula& b);

  Kind kind() const { return kind_; }
  bool is_known() const { return kind_ == Kind::yes || kind_ == Kind::no; }
  bool is_true() const { return kind_ == Kind::yes; }
  bool is_false() const { return kind_ == Kind::no; }
  const std::string& text() const { return text_; }                        // of an atom
  const std::optional<Polynomial>& negative() const { return negative_; }  // an atom "P < 0"
  const std::vector<Formula>& operands() const { return operands_; }
  std::string print() const;
  void collect_atoms(std::vector<std::string>& atoms) const;  // without repetition
  void each_atom(const std::function<void(const Formula&)>& f) const;
  bool evaluate(const std::vector<std::string>& atoms, uint32_t truths) const;

 private:
  Kind kind_ = Kind::yes;
  std::string text_;
  std::optional<Polynomial> negative_;
  std::vector<Formula> operands_;
};

// a == b and a < b of lengths; unknowns count as not negative.
Formula equals(const Proof& proof, const Polynomial& a, const Polynomial& b);
Formula less(const Proof& proof, const Polynomial& a, const Polynomial& b);

// Does `goal` follow from what is assumed? Proved: whenever the assumptions hold, it does. Refuted:
// it never does.
Answer follows(const std::vector<Formula>& assumptions, const Formula& goal);
// Are those conditions of `f` that are still open ones that a file gives directly, none that
// compares numbers? Then for some file each of them is false.
bool is_independent(const std::vector<Formula>& assumptions, const Formula& f);
// Can all of them hold together? Atoms are taken as independent, so true means perhaps.
bool can_hold(const std::vector<Formula>& assumptions);

}  // namespace etch
