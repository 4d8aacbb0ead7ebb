// add .. softcap: one call each, with numbers and broadcasting.
#include <limits>

#include "lower/ops/ops.h"

namespace etch {
namespace {

struct Row {
  Op op;
  etch_elementwise_op kernel;
};
constexpr Row kOps[] = {
    {Op::add, ETCH_EW_ADD},
    {Op::sub, ETCH_EW_SUB},
    {Op::mul, ETCH_EW_MUL},
    {Op::div, ETCH_EW_DIV},
    {Op::mod, ETCH_EW_MOD},
    {Op::silu, ETCH_EW_SILU},
    {Op::gelu, ETCH_EW_GELU},
    {Op::gelu_tanh, ETCH_EW_GELU_TANH},
    {Op::relu, ETCH_EW_RELU},
    {Op::sigmoid, ETCH_EW_SIGMOID},
    {Op::tanh, ETCH_EW_TANH},
    {Op::exp, ETCH_EW_EXP},
    {Op::ln, ETCH_EW_LN},
    {Op::sqrt, ETCH_EW_SQRT},
    {Op::floor, ETCH_EW_FLOOR},
    {Op::square, ETCH_EW_SQUARE},
    {Op::softplus, ETCH_EW_SOFTPLUS},
    {Op::clamp, ETCH_EW_CLAMP},
    {Op::softcap, ETCH_EW_SOFTCAP},
};

}  // namespace

Status lower_elementwise(Drafter& d, const Node& node) {
  for (const ValueId v : node.inputs)
    if (d.value(v).kind == Value::Kind::ids)
      return d.unsupported(node, "arithmetic on ids and positions has no kernel yet");
  Drafter::Elementwise what;
  for (const Row& row : kOps)
    if (row.op == node.op) what.op = row.kernel;
  const Operand a = ETCH_TRY(d.operand(node.inputs[0]));
  Operand b;
  const bool left = node.find("left") != nullptr, right = node.find("right") != nullptr;
  if (left) {  // number op wire
    what.constant = static_cast<float>(node.number("left"));
    what.b = &a;
  } else {
    what.a = &a;
    if (right) what.constant = static_cast<float>(node.number("right"));
    if (node.n_arguments() == 2) {
      b = ETCH_TRY(d.operand(node.inputs[1]));
      what.b = &b;
    }
  }
  if (node.op == Op::clamp) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    what.lo = static_cast<float>(node.number("lo", -kInfinity));
    what.hi = static_cast<float>(node.number("hi", kInfinity));
  }
  if (node.op == Op::softcap) {
    what.lo = static_cast<float>(node.number("cap"));
    if (what.lo == 0) {  // without
      d.define(node.outputs[0], a);
      return {};
    }
  }
  return d.elementwise(what, d.make(node.outputs[0]));
}

}  // namespace etch
