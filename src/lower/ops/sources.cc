// Where values come from: the step, a caller's input, the file, a constant; and the rows that want
// outputs.
#include <fmt/core.h>

#include "base/check.h"
#include "lower/ops/ops.h"

namespace etch {
namespace {

Status lower_input(Drafter& d, const Node& node) {
  const ValueId v = node.outputs[0];
  const Value& value = d.value(v);
  const auto* name = std::get_if<std::string>(node.find("name"));
  ETCH_CHECK(name != nullptr, "an input without a name");
  const bool ids = value.kind == Value::Kind::ids;
  if (ids && value.rows == Rows::tokens && *name == "tokens") {
    d.define(v, {{}, Rows::tokens, 4, {}, {}});  // the step brings them
    return {};
  }
  if (ids && value.rows == Rows::tokens && *name == "positions") return {};  // rope knows them
  for (const Input& input : d.lowered.inputs) {
    if (input.name != *name) continue;
    const Buffer& b = d.lowered.buffers[static_cast<size_t>(input.buffer)];
    const int32_t slot = d.draft.add_slot({.name = b.name,
                                           .space = Space::input,
                                           .representation = b.representation,
                                           .size = b.size,
                                           .bytes = b.bytes,
                                           .value = v,
                                           .shared = input.buffer});
    const int64_t row = value.rows == Rows::once ? 0 : 4 * count_elements(value.shape);
    d.define(v,
             {{Space::input, 0, slot}, value.rows, row, value.shape, tight_strides(value.shape)});
    return {};
  }
  ETCH_CHECK(false, "input '{}' was not planned", *name);
}

}  // namespace

Status lower_source(Drafter& d, const Node& node) {
  if (node.op == Op::input) return lower_input(d, node);
  const ValueId v = node.outputs[0];
  const auto& source = d.graph.weights[static_cast<size_t>(node.integer("source"))];
  d.define(v, ETCH_TRY(view_weight(d.graph, d.lowered, source, d.value(v).name)));
  return {};
}

Status lower_constant(Drafter& d, const Node& node) {
  const auto* values = std::get_if<std::vector<float>>(node.find("values"));
  ETCH_CHECK(values != nullptr, "a constant without values");
  const std::vector<int64_t>& shape = d.value(node.outputs[0]).shape;
  d.define(node.outputs[0],
           {d.constants.add_numbers<float>(*values), Rows::once, 0, shape, tight_strides(shape)});
  return {};
}

Status lower_outputs_only(Drafter& d, const Node& node) {
  const Value& value = d.value(node.inputs[0]);
  Operand x = ETCH_TRY(d.operand(node.inputs[0]));
  if (value.rows != Rows::tokens) {
    d.define(node.outputs[0], x);
    return {};
  }
  if (x.place.space == Space::none) {  // the step's tokens: who reads them looks up its own rows
    x.rows = Rows::outputs;
    d.define(node.outputs[0], x);
    return {};
  }
  x = ETCH_TRY(d.contiguous(x));
  const Operand y = d.make(node.outputs[0]);
  DraftCall& call = d.emit(ArgsKind::gather, "gather");
  call.set("x.at", x.place);
  call.set("x.row_stride", x.row_stride);
  call.set("y.at", y.place);
  call.set("y.row_stride", y.row_stride);
  call.set("d", count_elements(y.shape));
  return {};
}

}  // namespace etch
