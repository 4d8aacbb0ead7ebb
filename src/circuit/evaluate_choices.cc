// What dims decide: comparisons, conditions, and the values that hang on them.
#include "circuit/evaluator.h"

namespace etch {

using Kind = DimValue::Kind;

DimValue Evaluator::not_(const Expr& e) {
  const DimValue v = run(*e.operands[0]);
  if (is_missing(v)) return v;
  return DimValue::of_truth(!d_.truth(v, e.operands[0]->at));
}

DimValue Evaluator::junction(const Expr& e) {
  const DimValue a = run(*e.operands[0]);
  if (is_missing(a)) return a;
  const Formula left = d_.truth(a, e.operands[0]->at);
  if (left.is_known() && left.is_true() == (e.binary == BinaryOp::or_))
    return DimValue::of_truth(left);
  const DimValue b = run(*e.operands[1]);
  if (is_missing(b)) return b;
  const Formula right = d_.truth(b, e.operands[1]->at);
  return DimValue::of_truth(e.binary == BinaryOp::and_ ? left && right : left || right);
}

Formula Evaluator::same(const DimValue& a, const DimValue& b, const Expr& e) {
  if (a.kind == Kind::none || b.kind == Kind::none) {
    if (a.kind == Kind::unknown || b.kind == Kind::unknown) return Formula::atom(print(e));
    return a.kind == b.kind;
  }
  const bool lengths = (a.kind == Kind::integer || a.kind == Kind::unknown) &&
                       (b.kind == Kind::integer || b.kind == Kind::unknown);
  if (lengths && (a.kind == Kind::integer || b.kind == Kind::integer))
    return equals(d_.proof_, d_.length(a), d_.length(b));
  if (a.kind == Kind::unknown || b.kind == Kind::unknown) {
    // "x == false" of an unknown truth.
    const DimValue& u = a.kind == Kind::unknown ? a : b;
    const DimValue& other = a.kind == Kind::unknown ? b : a;
    if (other.kind == Kind::truth && other.truth.is_known())
      return other.truth.is_true() ? Formula::atom(u.text) : !Formula::atom(u.text);
    return Formula::atom(print(e));
  }
  if (is_numeric(a) && is_numeric(b)) {
    if (is_open(a) || is_open(b)) return Formula::atom(print(e));
    return as_real(a) == as_real(b);
  }
  if (a.kind == Kind::truth && b.kind == Kind::truth)
    return (a.truth && b.truth) || (!a.truth && !b.truth);
  if (a.kind == Kind::text && b.kind == Kind::text) return a.text == b.text;
  if (a.kind == Kind::symbol && b.kind == Kind::symbol) return a.symbol == b.symbol;
  wrong(e.at, fmt::format("a {} and a {} are never equal", kind_name(a.kind), kind_name(b.kind)));
  return false;
}

DimValue Evaluator::membership(const DimValue& a, const DimValue& b, const Expr& e) {
  if (b.kind == Kind::unknown) return DimValue::of_truth(Formula::atom(print(e)));
  if (b.kind != Kind::list)
    return wrong(e.operands[1]->at,
                 fmt::format("'in' wants a list, this is a {}", kind_name(b.kind)));
  Formula any(false);
  for (const DimValue& item : b.items) {
    if (a.kind == Kind::unknown && item.kind != Kind::integer)
      return DimValue::of_truth(Formula::atom(print(e)));
    any = any || same(a, item, e);
  }
  return DimValue::of_truth(any);
}

DimValue Evaluator::order(const DimValue& a, const DimValue& b, const Expr& e) {
  if (!is_numeric(a) && a.kind != Kind::unknown) return needs_number(a, e.operands[0]->at);
  if (!is_numeric(b) && b.kind != Kind::unknown) return needs_number(b, e.operands[1]->at);
  const bool swap = e.binary == BinaryOp::gt || e.binary == BinaryOp::le;  // a > b is b < a
  const bool contrary =
      e.binary == BinaryOp::le || e.binary == BinaryOp::ge;  // a <= b is not b < a
  const DimValue &x = swap ? b : a, &y = swap ? a : b;
  Formula f;
  if (x.kind == Kind::real || y.kind == Kind::real) {
    if (is_open(x) || is_open(y)) return DimValue::of_truth(Formula::atom(print(e)));
    f = as_real(x) < as_real(y);
  } else {
    f = less(d_.proof_, d_.length(x), d_.length(y));
  }
  return DimValue::of_truth(contrary ? !f : f);
}

DimValue Evaluator::conditional(const Expr& e) {
  const DimValue c = run(*e.operands[0]);
  if (is_missing(c)) return c;
  const Formula f = d_.truth(c, e.operands[0]->at);
  if (f.is_known()) return run(*e.operands[f.is_true() ? 1 : 2]);
  const DimValue a = run(*e.operands[1]), b = run(*e.operands[2]);
  if (a.kind == Kind::wrong || b.kind == Kind::wrong) return {};
  return either(f, a, b, print(e));
}

DimValue Evaluator::either(const Formula& f, const DimValue& a, const DimValue& b,
                           const std::string& called) {
  if (a.kind == Kind::integer && b.kind == Kind::integer &&
      d_.proof_.equal(a.integer, b.integer) == Answer::proved)
    return a;
  if (a.kind == Kind::truth && b.kind == Kind::truth)
    return DimValue::of_truth((f && a.truth) || (!f && b.truth));
  if (a.kind == Kind::rotary && b.kind == Kind::rotary) return either_rotary(a, b, called);
  if (a.kind == Kind::real || b.kind == Kind::real) {
    const bool numbers =
        (is_numeric(a) || a.kind == Kind::unknown) && (is_numeric(b) || b.kind == Kind::unknown);
    if (numbers) return DimValue::of_real(0, false);
  }
  return DimValue::unknown(called, true);
}

DimValue Evaluator::otherwise(const Expr& e) {
  DimValue a = run(*e.operands[0]);
  if (a.kind == Kind::wrong) return a;
  if (a.kind != Kind::absent && !d_.symbolic()) return a;
  const bool outer = std::exchange(in_default_, true);
  const DimValue b = run(*e.operands[1]);
  in_default_ = outer;
  if (!d_.symbolic()) return b;
  if (b.kind == Kind::wrong) return b;
  const bool plain = is_constant(b) || b.kind == Kind::none || b.kind == Kind::text ||
                     b.kind == Kind::symbol || (b.kind == Kind::truth && b.truth.is_known());
  if (b.kind == Kind::real) return DimValue::of_real(0, false);
  if (b.kind == Kind::truth && a.kind == Kind::truth)
    return DimValue::of_truth(Formula::atom(print(e)));
  return DimValue::unknown(print(e), !plain || a.dependent);
}

}  // namespace etch
