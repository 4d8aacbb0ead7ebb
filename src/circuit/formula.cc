#include "circuit/formula.h"

#include <algorithm>

#include <fmt/core.h>

namespace etch {
namespace {

constexpr size_t kMostAtoms = 14;  // 2^14 rows of a truth table

bool shares_atom(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& s) {
    return std::find(b.begin(), b.end(), s) != b.end();
  });
}

// The assumptions that have to do with these atoms, directly or through one another; atoms grows by
// theirs.
std::vector<const Formula*> relevant(const std::vector<Formula>& assumptions,
                                     std::vector<std::string>& atoms) {
  std::vector<const Formula*> out;
  std::vector<bool> taken(assumptions.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < assumptions.size(); ++i) {
      if (taken[i]) continue;
      std::vector<std::string> own;
      assumptions[i].collect_atoms(own);
      if (!own.empty() && !shares_atom(own, atoms)) continue;
      std::vector<std::string> grown = atoms;
      assumptions[i].collect_atoms(grown);
      if (grown.size() > kMostAtoms) continue;  // leaving one out only makes answers more open
      taken[i] = true;
      changed = grown.size() > atoms.size();
      atoms = std::move(grown);
      out.push_back(&assumptions[i]);
    }
  }
  return out;
}

// p >= 0 because unknowns are not negative.
bool is_never_negative(const Polynomial& p) {
  return !p.overflowed() && p.constant() >= 0 &&
         std::all_of(p.terms().begin(), p.terms().end(),
                     [](const Term& t) { return t.coefficient > 0; });
}

// What comparisons say about one another: P < 0 and P - Q >= 0 give Q < 0.
std::vector<Formula> comparisons(const std::vector<const Formula*>& formulas) {
  std::vector<Formula> atoms;
  for (const Formula* f : formulas)
    f->each_atom([&](const Formula& a) {
      if (a.negative() && std::none_of(atoms.begin(), atoms.end(),
                                       [&](const Formula& b) { return b.text() == a.text(); }))
        atoms.push_back(a);
    });
  std::vector<Formula> out;
  for (const Formula& p : atoms)
    for (const Formula& q : atoms)
      if (p.text() != q.text() && is_never_negative(*p.negative() - *q.negative()))
        out.push_back(!p || q);
  return out;
}

}  // namespace

Formula Formula::atom(std::string text) {
  Formula f;
  f.kind_ = Kind::atom;
  f.text_ = std::move(text);
  return f;
}

Formula Formula::is_negative(const Polynomial& p) {
  Formula f = atom(p.print() + " < 0");
  f.negative_ = p;
  return f;
}

void Formula::each_atom(const std::function<void(const Formula&)>& f) const {
  if (kind_ == Kind::atom) f(*this);
  for (const Formula& o : operands_) o.each_atom(f);
}

Formula operator!(const Formula& a) {
  if (a.is_known()) return Formula(!a.is_true());
  if (a.kind_ == Formula::Kind::not_) return a.operands_[0];
  Formula f;
  f.kind_ = Formula::Kind::not_;
  f.operands_ = {a};
  return f;
}

Formula operator&&(const Formula& a, const Formula& b) {
  if (a.is_false() || b.is_true()) return a;
  if (a.is_true() || b.is_false()) return b;
  Formula f;
  f.kind_ = Formula::Kind::and_;
  f.operands_ = {a, b};
  return f;
}

Formula operator||(const Formula& a, const Formula& b) {
  if (a.is_true() || b.is_false()) return a;
  if (a.is_false() || b.is_true()) return b;
  Formula f;
  f.kind_ = Formula::Kind::or_;
  f.operands_ = {a, b};
  return f;
}

std::string Formula::print() const {
  switch (kind_) {
    case Kind::yes:
      return "true";
    case Kind::no:
      return "false";
    case Kind::atom:
      return text_;
    case Kind::not_:
      return fmt::format("not ({})", operands_[0].print());
    case Kind::and_:
      return fmt::format("({}) and ({})", operands_[0].print(), operands_[1].print());
    case Kind::or_:
      return fmt::format("({}) or ({})", operands_[0].print(), operands_[1].print());
  }
  return "";
}

void Formula::collect_atoms(std::vector<std::string>& atoms) const {
  if (kind_ == Kind::atom && std::find(atoms.begin(), atoms.end(), text_) == atoms.end())
    atoms.push_back(text_);
  for (const Formula& f : operands_) f.collect_atoms(atoms);
}

bool Formula::evaluate(const std::vector<std::string>& atoms, uint32_t truths) const {
  switch (kind_) {
    case Kind::yes:
      return true;
    case Kind::no:
      return false;
    case Kind::atom: {
      const auto at = std::find(atoms.begin(), atoms.end(), text_);
      return at != atoms.end() && (truths >> (at - atoms.begin()) & 1) != 0;
    }
    case Kind::not_:
      return !operands_[0].evaluate(atoms, truths);
    case Kind::and_:
      return operands_[0].evaluate(atoms, truths) && operands_[1].evaluate(atoms, truths);
    case Kind::or_:
      return operands_[0].evaluate(atoms, truths) || operands_[1].evaluate(atoms, truths);
  }
  return false;
}

Formula equals(const Proof& proof, const Polynomial& a, const Polynomial& b) {
  Polynomial d = proof.normal(a - b);
  if (d.overflowed()) return Formula::atom(fmt::format("{} == {}", a.print(), b.print()));
  if (d.is_constant()) return Formula(d.constant() == 0);
  if (d.terms()[0].coefficient < 0) d = -d;
  return Formula::atom(d.print() + " == 0");
}

Formula less(const Proof& proof, const Polynomial& a, const Polynomial& b) {
  const Polynomial d = proof.normal(a - b);
  if (d.overflowed()) return Formula::atom(fmt::format("{} < {}", a.print(), b.print()));
  if (d.is_constant()) return Formula(d.constant() < 0);
  if (d.single() != nullptr) return Formula(false);                 // x < 0
  if ((-d).single() != nullptr) return !equals(proof, d, 0);        // 0 < x
  if ((d + 1).single() != nullptr) return equals(proof, d + 1, 0);  // x < 1
  // One spelling for d < 0 and for its contrary, -d - 1 < 0.
  if (d.terms()[0].coefficient < 0) return !Formula::is_negative(-d - 1);
  return Formula::is_negative(d);
}

Answer follows(const std::vector<Formula>& assumptions, const Formula& goal) {
  if (goal.is_known()) return goal.is_true() ? Answer::proved : Answer::refuted;
  std::vector<std::string> atoms;
  goal.collect_atoms(atoms);
  if (atoms.size() > kMostAtoms) return Answer::open;
  std::vector<const Formula*> all{&goal};
  for (const Formula& f : assumptions) all.push_back(&f);
  std::vector<Formula> known = assumptions;
  for (Formula& f : comparisons(all)) known.push_back(std::move(f));
  const std::vector<const Formula*> used = relevant(known, atoms);
  bool always = true, never = true;
  for (uint32_t truths = 0; truths < (1u << atoms.size()); ++truths) {
    if (!std::all_of(used.begin(), used.end(),
                     [&](const Formula* f) { return f->evaluate(atoms, truths); }))
      continue;
    (goal.evaluate(atoms, truths) ? never : always) = false;
    if (!always && !never) return Answer::open;
  }
  return always ? Answer::proved : Answer::refuted;
}

bool can_hold(const std::vector<Formula>& assumptions) {
  std::vector<std::string> atoms;
  for (const Formula& f : assumptions) f.collect_atoms(atoms);
  if (atoms.size() > kMostAtoms) return true;
  for (uint32_t truths = 0; truths < (1u << atoms.size()); ++truths)
    if (std::all_of(assumptions.begin(), assumptions.end(),
                    [&](const Formula& f) { return f.evaluate(atoms, truths); }))
      return true;
  return false;
}

bool is_independent(const std::vector<Formula>& here, const Formula& f) {
  std::vector<std::string> atoms;
  f.collect_atoms(atoms);
  return std::all_of(atoms.begin(), atoms.end(), [&](const std::string& a) {
    const bool compares = a.find(" < ") != std::string::npos || a.find(" == ") != std::string::npos;
    return !compares || follows(here, Formula::atom(a)) != Answer::open;
  });
}

}  // namespace etch
