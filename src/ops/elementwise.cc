// Elementwise operations: shapes broadcast, aligned at the last axis.
#include <fmt/core.h>

#include "ops/shape_rule.h"

namespace etch {
namespace {

bool is_ids(const Operand& o) {
  return (o.is_wire() || o.is_part()) && o.type.kind == Type::Kind::ids;
}

void both(ShapeCheck& c) {
  Shape out;
  if (!c.value(0) || !c.value(1)) return;
  if (c.broadcast(-1, c.shape(0), c.shape(1), out)) c.result(out);
}

// ids / n and ids % n stay ids.
bool of_ids(ShapeCheck& c) {
  if (!is_ids(c.arguments[0])) return false;
  const Operand& n = c.arguments[1];
  if (!n.is_number() || !n.is_integer)
    c.error(1, fmt::format("ids allow {} by a whole number only", info(c.op).spelled));
  else if (n.length.is_constant() && n.length.constant() <= 0)
    c.error(1, fmt::format("ids allow {} by a positive number only", info(c.op).spelled));
  else
    c.result(c.shape(0), Type::Kind::ids);
  return true;
}

void one(ShapeCheck& c) {
  if (c.wire(0)) c.result(c.shape(0));
}

bool bound(ShapeCheck& c, size_t argument) {
  const Operand& o = c.arguments[argument];
  if (o.kind == Operand::Kind::none || o.is_number()) return true;
  c.error(static_cast<int>(argument),
          fmt::format("{} wants a number or none here", info(c.op).spelled));
  return false;
}

}  // namespace

namespace shape_rules {

void add(ShapeCheck& c) { both(c); }
void sub(ShapeCheck& c) { both(c); }
void mul(ShapeCheck& c) { both(c); }
void div(ShapeCheck& c) {
  if (!of_ids(c)) both(c);
}
void mod(ShapeCheck& c) {
  if (!of_ids(c)) c.error(0, "% is for dims and ids");
}
void silu(ShapeCheck& c) { one(c); }
void gelu(ShapeCheck& c) { one(c); }
void gelu_tanh(ShapeCheck& c) { one(c); }
void relu(ShapeCheck& c) { one(c); }
void sigmoid(ShapeCheck& c) { one(c); }
void tanh(ShapeCheck& c) { one(c); }
void exp(ShapeCheck& c) { one(c); }
void ln(ShapeCheck& c) { one(c); }
void sqrt(ShapeCheck& c) { one(c); }
void floor(ShapeCheck& c) { one(c); }
void square(ShapeCheck& c) { one(c); }
void softplus(ShapeCheck& c) { one(c); }
void clamp(ShapeCheck& c) {
  if (bound(c, 1) && bound(c, 2)) one(c);
}
void softcap(ShapeCheck& c) {
  if (bound(c, 1)) one(c);
}

}  // namespace shape_rules
}  // namespace etch
