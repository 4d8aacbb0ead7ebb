// Every dim once, and what `require` says of them.
#include "circuit/dims.h"

namespace etch {

namespace {

bool is(const Expr& e, BinaryOp op) { return e.kind == Expr::Kind::binary && e.binary == op; }

}  // namespace

void Dims::evaluate_all() {
  if (symbolic()) learn_divisors();
  for (const DimEntry& entry : circuit_.dims) {
    if (entry.kind != DimEntry::Kind::dim) continue;
    if (!entry.parameter) {
      const bool was = used_.contains(entry.name.text);
      value(entry.name.text);
      if (!was) used_.erase(entry.name.text);
    } else if (symbolic()) {
      const DimValue l = DimValue::of(any_layer(entry.parameter->text));
      evaluate(*entry.value, only(entry.parameter->text, l));
    }
  }
  for (const DimEntry& entry : circuit_.dims)
    for (const ExprPtr& c : entry.conditions) require(*c);
}

// What `require a % b == 0` says, ahead of all else: dims are quotients of dims.
void Dims::learn_divisors() {
  for (const DimEntry& entry : circuit_.dims)
    for (const ExprPtr& c : entry.conditions) {
      if (!is(*c, BinaryOp::eq) || !is(*c->operands[0], BinaryOp::mod) ||
          c->operands[1]->kind != Expr::Kind::number || c->operands[1]->real != 0)
        continue;
      const Expr& mod = *c->operands[0];
      Polynomial a, b;
      if (integer(evaluate(*mod.operands[0]), mod.operands[0]->at, a) &&
          integer(evaluate(*mod.operands[1]), mod.operands[1]->at, b))
        proof_.assume_divides(a, b);
    }
}

void Dims::require(const Expr& c) {
  const DimValue v = evaluate(c);
  if (v.kind == DimValue::Kind::wrong || is_absent(v, c.at)) return;
  const Formula f = truth(v, c.at);
  if (symbolic()) return assume(c, f);
  if (!f.is_true())
    report_(c.at, ErrorKind::unsupported,
            fmt::format("this file breaks '{}' (line {}){}", print(c), c.at.line, values_in(c)));
}

void Dims::assume(const Expr& c, const Formula& f) {
  if (f.is_false()) report_(c.at, ErrorKind::usage, fmt::format("'{}' never holds", print(c)));
  if (is(c, BinaryOp::eq)) {
    const DimValue a = evaluate(*c.operands[0]), b = evaluate(*c.operands[1]);
    const auto is_length = [](const DimValue& x) {
      return x.kind == DimValue::Kind::integer || x.kind == DimValue::Kind::unknown;
    };
    if (is_length(a) && is_length(b)) proof_.assume_equal(length(a), length(b));
  }
  if (!f.is_known()) facts_.push_back(f);
}

// ": 7 % 2 = 1" or ": 3 and 4": what the two sides of a broken condition are.
std::string Dims::values_in(const Expr& c) {
  if (c.kind != Expr::Kind::binary || c.binary == BinaryOp::and_ || c.binary == BinaryOp::or_)
    return "";
  const Expr& left = *c.operands[0];
  if (is(left, BinaryOp::mod))
    return fmt::format(": {} % {} = {}", print(evaluate(*left.operands[0])),
                       print(evaluate(*left.operands[1])), print(evaluate(left)));
  return fmt::format(": {} and {}", print(evaluate(left)), print(evaluate(*c.operands[1])));
}

}  // namespace etch
