// mix: the experts chosen for a row stand in slots, an axis in front of all others.
#include <algorithm>

#include "circuit/walker.h"

namespace etch {
bool takes_slots(Op op) {
  switch (op) {
    case Op::linear:
    case Op::softmax:
    case Op::sum:
    case Op::rmsnorm:
    case Op::layernorm:
    case Op::l2norm:
    case Op::heads:
    case Op::merge:
    case Op::split:
    case Op::concat:
    case Op::rope:
    case Op::mix:
      return true;
    default:
      return info(op).family == OpFamily::elementwise;
  }
}

FlowValue Walker::mix(const Expr& e) {
  FlowValue r = evaluate(*e.operands[0]);
  if (is_wrong(r)) return r;
  if (r.kind != FlowValue::Kind::operand || !r.operand.is_wire() ||
      r.operand.type.kind != Type::Kind::experts)
    return wrong(e.operands[0]->at, "mix wants experts here, from route");
  if (mix_) return wrong(e.at, "a mix inside a mix");
  const Frame outer = frame_;
  FlowValue variable;
  variable.kind = FlowValue::Kind::expert;
  variable.defined = Formula(true);
  frame_[e.variable.text] = variable;
  mix_ = Mix{e.variable.text, r.operand};
  const bool plain = !e.weight.text.empty();
  if (plain) {
    std::vector<FlowValue> w = emit(Op::expert_weights, {r}, {e.operands[0]->at}, {}, 1, e.at);
    if (!w.empty()) {
      w[0].slots = true;
      w[0].origins = {e.weight.at.begin};
      w[0].operand.name = e.weight.text;
      w[0].defined = Formula(true);
      assignments[e.weight.at.begin] = e.weight;
      frame_[e.weight.text] = w[0];
    }
  }
  FlowValue y = evaluate(*e.operands[1]);
  mix_.reset();
  frame_ = outer;
  if (is_wrong(y)) return y;
  if (!y.slots)
    return wrong(e.operands[1]->at,
                 fmt::format("the body of mix does not depend on '{}'", e.variable.text));
  std::vector<NamedOperand> attributes;
  if (plain) {
    Operand yes;
    yes.kind = Operand::Kind::truth;
    yes.truth = true;
    attributes.push_back({"plain", yes});
  }
  std::vector<FlowValue> out =
      emit(Op::mix, {std::move(y), std::move(r)}, {e.operands[1]->at, e.operands[0]->at},
           std::move(attributes), 1, e.at);
  if (out.empty()) return {};
  out[0].slots = false;
  return out[0];
}

// linear(x, stack[e]): proved with one matrix and one row, applied to all chosen ones.
std::vector<FlowValue> Walker::emit_experts(std::vector<FlowValue> arguments,
                                            const std::vector<Location>& places,
                                            const Location& at) {
  Operand x = to_operand(arguments[0]);
  const Operand stack = arguments[1].operand;
  const Polynomial n_used = mix_->experts.type.shape[0];
  if (arguments[0].slots && !x.type.shape.empty()) x.type.shape.erase(x.type.shape.begin());
  if (!reads_type(Op::linear, stack, true, places[1])) return {};
  const Operand single[] = {x, stack};
  ShapeCheck check(Op::linear, single, {}, 1, dims_.proof());
  infer_shapes(check);
  tell(check.findings, places, at);
  if (check.failed()) return {};
  if (x.type.shape.size() != 1) {
    wrong(places[0], fmt::format("linear with an expert's matrix takes one row, {} is {}",
                                 check.called(0), print(x.type.shape)));
    return {};
  }
  FlowValue r = new_wire(check.results[0], true);
  Shape& shape = r.operand.type.shape;
  shape.insert(shape.begin(), n_used);
  const Operand operands[] = {to_operand(arguments[0]), mix_->experts, stack};
  if (!send(Op::linear_experts, operands, {}, {&r.operand, 1}, at)) return {};
  return {std::move(r)};
}

// Slots stand in front; a wire from outside with more axes than one with slots would meet its slots
// with an axis of its own.
bool Walker::make_room(std::vector<FlowValue>& arguments, const Location& at) {
  size_t rank = 0;
  for (const FlowValue& v : arguments)
    if (v.kind == FlowValue::Kind::operand) {
      const size_t own = v.operand.type.shape.size();
      rank = std::max(rank, v.slots && own > 0 ? own - 1 : own);
    }
  for (FlowValue& v : arguments)
    while (v.slots && v.operand.type.shape.size() < rank + 1) {
      const std::string name = v.operand.name;
      std::vector<FlowValue> wider =
          emit(Op::heads, {v, of_dim(DimValue::of(1))}, {at, at}, {}, 1, at);
      if (wider.empty()) return false;
      v = std::move(wider[0]);
      v.operand.name = name;
    }
  return true;
}

}  // namespace etch
