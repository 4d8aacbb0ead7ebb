// Arithmetic of dims, with numbers or with letters.
#include <cmath>

#include "circuit/evaluator.h"

namespace etch {

using Kind = DimValue::Kind;

DimValue Evaluator::needs_number(const DimValue& v, const Location& at) {
  if (v.kind != Kind::wrong) d_.report_kind(v, at, "a number", "a number");
  return {};
}

DimValue Evaluator::checked(Polynomial p, const Location& at) {
  if (p.overflowed()) return wrong(at, "this number is too large", ErrorKind::damaged);
  return DimValue::of(std::move(p));
}

DimValue Evaluator::negate(const Expr& e) {
  const DimValue v = run(*e.operands[0]);
  if (is_missing(v)) return v;
  if (v.kind == Kind::integer) return checked(-v.integer, e.at);
  if (v.kind == Kind::real) return DimValue::of_real(-v.real, v.known);
  if (v.kind == Kind::unknown) return DimValue::of(-d_.length(v));
  return needs_number(v, e.operands[0]->at);
}

DimValue Evaluator::binary(const Expr& e) {
  if (e.binary == BinaryOp::and_ || e.binary == BinaryOp::or_) return junction(e);
  const DimValue a = run(*e.operands[0]);
  if (is_missing(a)) return a;
  const DimValue b = run(*e.operands[1]);
  if (is_missing(b)) return b;
  switch (e.binary) {
    case BinaryOp::eq:
      return DimValue::of_truth(same(a, b, e));
    case BinaryOp::ne:
      return DimValue::of_truth(!same(a, b, e));
    case BinaryOp::in:
      return membership(a, b, e);
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge:
      return order(a, b, e);
    default:
      return arithmetic(a, b, e);
  }
}

DimValue Evaluator::arithmetic(const DimValue& a, const DimValue& b, const Expr& e) {
  if (!is_numeric(a) && a.kind != Kind::unknown) return needs_number(a, e.operands[0]->at);
  if (!is_numeric(b) && b.kind != Kind::unknown) return needs_number(b, e.operands[1]->at);
  if (a.kind == Kind::real || b.kind == Kind::real) return real_arithmetic(a, b, e);
  const Polynomial x = d_.length(a), y = d_.length(b);
  switch (e.binary) {
    case BinaryOp::add:
      return checked(x + y, e.at);
    case BinaryOp::sub:
      return checked(x - y, e.at);
    case BinaryOp::mul:
      return checked(x * y, e.at);
    case BinaryOp::div:
      return quotient(x, y, e);
    case BinaryOp::mod:
      return remainder(x, y, e);
    default:
      return power(a, b, e);
  }
}

DimValue Evaluator::real_arithmetic(const DimValue& a, const DimValue& b, const Expr& e) {
  if (is_open(a) || is_open(b)) return DimValue::of_real(0, false);
  const double x = as_real(a), y = as_real(b);
  double r = 0;
  switch (e.binary) {
    case BinaryOp::add:
      r = x + y;
      break;
    case BinaryOp::sub:
      r = x - y;
      break;
    case BinaryOp::mul:
      r = x * y;
      break;
    case BinaryOp::div:
      r = x / y;
      break;
    case BinaryOp::pow:
      r = std::pow(x, y);
      break;
    default:
      return wrong(e.at, "% wants whole numbers");
  }
  if (!std::isfinite(r))
    return wrong(e.at, fmt::format("{} {} {} is no number", x, spelling(e.binary), y),
                 ErrorKind::damaged);
  return DimValue::of_real(r);
}

DimValue Evaluator::quotient(const Polynomial& x, const Polynomial& y, const Expr& e) {
  if (y == Polynomial(0)) return wrong(e.at, "division by 0", ErrorKind::damaged);
  if (x.is_constant() && y.is_constant()) {
    Polynomial q;
    if (divide_exactly(x, y, q)) return DimValue::of(q);
    return wrong(e.at, fmt::format("{} / {} does not come out even", x.constant(), y.constant()),
                 ErrorKind::unsupported);
  }
  bool even = false;
  const Polynomial q = d_.proof_.quotient_or_unknown(x, y, even);
  if (!even && !in_default_ && d_.note)
    d_.note(e.at, fmt::format("{} / {} need not come out even; add 'require {} % {} == 0'",
                              print(*e.operands[0]), print(*e.operands[1]), print(*e.operands[0]),
                              print(*e.operands[1])));
  return DimValue::of(q);
}

DimValue Evaluator::remainder(const Polynomial& x, const Polynomial& y, const Expr& e) {
  if (y == Polynomial(0)) return wrong(e.at, "division by 0", ErrorKind::damaged);
  if (x.is_constant() && y.is_constant()) {
    if (x.constant() < 0 || y.constant() < 0)
      return wrong(e.at, "% wants numbers that are not negative");
    return DimValue::of(x.constant() % y.constant());
  }
  Polynomial q;
  if (d_.proof_.quotient(x, y, q)) return DimValue::of(0);
  return DimValue::unknown(fmt::format("{} % {}", x.print(), y.print()), true);
}

DimValue Evaluator::power(const DimValue& a, const DimValue& b, const Expr& e) {
  const Polynomial x = d_.length(a), y = d_.length(b);
  if (!y.is_constant() || y.constant() < 0 || y.constant() > 64) {
    if (!x.is_constant() || !y.is_constant()) return DimValue::of_real(0, false);
    const double r = std::pow(as_real(a), as_real(b));
    if (!std::isfinite(r))
      return wrong(e.at, fmt::format("{}^{} is no number", x.print(), y.print()),
                   ErrorKind::damaged);
    if (y.constant() > 64) return wrong(e.at, "this number is too large");
    return DimValue::of_real(r);
  }
  Polynomial r(1);
  for (int64_t i = 0; i < y.constant(); ++i) r = r * x;
  return checked(r, e.at);
}

}  // namespace etch
