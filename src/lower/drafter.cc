#include "lower/drafter.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/check.h"
#include "ops/op.h"

namespace etch {

Status Drafter::run() {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.dead) continue;
    node_ = static_cast<NodeId>(i);
    origin_ = origin_of(node, node_);
    ETCH_TRY(lower_node(node_));
  }
  return finish_outputs();
}

Status Drafter::lower_node(NodeId id) {
  const Node& node = graph.nodes[static_cast<size_t>(id)];
  for (const ValueId v : node.outputs)
    if (value(v).rows == Rows::sequences || value(v).rows == Rows::blocks)
      return unsupported(node, "rows per sequence or block have no kernels yet");
  const LowerOp lower = lower_op(node.op);
  if (lower == nullptr) return unsupported(node, "there is no kernel for it yet");
  return lower(*this, node);
}

tl::unexpected<Error> Drafter::unsupported(const Node& node, std::string_view why) const {
  std::string where;
  if (!node.origin.file.empty()) where = fmt::format("{}:{}: ", node.origin.file, node.origin.line);
  return fail(ErrorKind::unsupported, "{}{}: {}", where, name(node.op), why);
}

CallOrigin Drafter::origin_of(const Node& node, NodeId id) const {
  CallOrigin origin;
  origin.node = id;
  // What a pass put here may say it belongs to a layer before: it runs with this one.
  origin.layer = node.origin.layer < 0 ? -1 : std::max(node.origin.layer, origin_.layer);
  if (!node.origin.file.empty())
    origin.location = fmt::format("{}:{}", node.origin.file, node.origin.line);
  std::string arguments;
  for (const ValueId v : node.inputs)
    arguments += fmt::format("{}{}", arguments.empty() ? "" : ", ", value(v).name);
  std::string results;
  for (const ValueId v : node.outputs)
    results += fmt::format("{}{}", results.empty() ? "" : ", ", value(v).name);
  origin.what =
      fmt::format("{}{}({})", results.empty() ? "" : results + " = ", name(node.op), arguments);
  return origin;
}

DraftCall& Drafter::emit(ArgsKind kind, std::string op) {
  draft.calls.push_back(make_call(kind, std::move(op)));
  draft.calls.back().origin = origin_;
  return draft.calls.back();
}

void Drafter::set_tensor(DraftCall& call, const WeightView& weight) const {
  call.weight = weight.dtype;
  call.origin.tensor = weight.tensor;
}

// ---- outputs -----------------------------------------------------------------------------------

// Results that the caller reads are made where it reads them. Both lists share these buffers.
int32_t Drafter::output_slot(ValueId v) {
  if (const auto it = output_slots_.find(v); it != output_slots_.end()) return it->second;
  for (const GraphOutput& o : graph.outputs) {
    if (o.value != v) continue;
    for (size_t i = 0; i < lowered.outputs.size(); ++i) {
      if (lowered.outputs[i].name != o.name) continue;
      const int32_t buffer = lowered.outputs[i].buffer;
      const Buffer& b = lowered.buffers[static_cast<size_t>(buffer)];
      return output_slots_[v] = draft.add_slot({.name = b.name,
                                                .space = Space::output,
                                                .representation = b.representation,
                                                .size = b.size,
                                                .bytes = b.bytes,
                                                .value = v,
                                                .shared = buffer});
    }
  }
  return -1;
}

// An output that is a view of something, a weight or an input is copied out.
Status Drafter::finish_outputs() {
  for (const GraphOutput& o : graph.outputs) {
    if (output_slots_.contains(o.value)) continue;
    const Operand from = ETCH_TRY(operand(o.value));
    const int32_t slot = output_slot(o.value);
    ETCH_CHECK(slot >= 0, "output '{}'", o.name);
    Operand to = {{Space::output, 0, slot},
                  from.rows,
                  4 * count_elements(from.shape),
                  from.shape,
                  tight_strides(from.shape)};
    if (to.rows == Rows::once) to.row_stride = 0;
    origin_.what = fmt::format("{} = {}", o.name, value(o.value).name);
    ETCH_TRY(copy_to(from, to));
  }
  return {};
}

// ---- rotary ------------------------------------------------------------------------------------

// One call a list for each encoding with numbers of its own, before everything else.
Result<Place> Drafter::rotary_table(int rotary, Rows rows) {
  if (rows != Rows::tokens && rows != Rows::outputs)
    return fail(ErrorKind::unsupported, "rope needs rows that have positions");
  const Rotary& r = graph.rotaries[static_cast<size_t>(rotary)];
  for (const auto& [key, place] : tables_) {
    const Rotary& other = graph.rotaries[static_cast<size_t>(key.first)];
    if (key.second == rows && other.frequencies == r.frequencies && other.magnitude == r.magnitude)
      return place;
  }
  const auto pairs = static_cast<int64_t>(r.frequencies.size());
  const Operand table = make(r.name + " (cos, sin)", rows, {2, pairs});
  DraftCall call = make_call(ArgsKind::rotary, "rotary");
  call.set("frequencies", constants.add_numbers<float>(r.frequencies));
  call.set("y", table.place);
  call.set("pairs", pairs);
  call.set("magnitude", r.magnitude);
  call.set_rows({rows_of(rows), 1});
  call.origin.what = fmt::format("rotary {}", r.name);
  // Before the first call that belongs to a node with a layer, among other tables.
  const auto at = draft.calls.begin() + static_cast<std::ptrdiff_t>(tables_.size());
  draft.calls.insert(at, std::move(call));
  return tables_[{rotary, rows}] = table.place;
}

}  // namespace etch
