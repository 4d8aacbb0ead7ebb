// route chooses experts for every row; linear_experts multiplies by their matrices, sorted by
// expert; mix adds their results.
#include <fmt/core.h>

#include "kernels/limits.h"
#include "lower/ops/ops.h"

namespace etch {
namespace {

constexpr int32_t score_number(Symbol score) {
  switch (score) {
    case Symbol::softmax:
      return 1;
    case Symbol::sigmoid:
      return 2;
    case Symbol::sqrt_softplus:
      return 3;
    default:
      return 0;
  }
}

// The order of (row, slot) pairs by expert: one call for all products of a routing.
Place order_of(Drafter& d, Drafter::Experts& e) {
  if (e.order.space != Space::none) return e.order;
  const int64_t rows = d.draft.rows_of(e.all_rows.of) * e.all_rows.per;
  const Operand order =
      d.make("expert order", Rows::once, {e.n_experts + 1 + rows * e.top}, Representation::i32);
  DraftCall& call = d.emit(ArgsKind::expert_order, "expert_order");
  call.set("experts", e.ids);
  call.set("order", order.place);
  call.set("n_used", static_cast<int32_t>(e.top));
  call.set("n_experts", static_cast<int32_t>(e.n_experts));
  call.set_rows(e.all_rows);
  return e.order = order.place;
}

}  // namespace

Status lower_route(Drafter& d, const Node& node) {
  const RowsView scores = ETCH_TRY(d.rows(ETCH_TRY(d.operand(node.inputs[0]))));
  const Value& v = d.value(node.outputs[0]);
  if (scores.d > kMaxExperts)
    return d.unsupported(node,
                         fmt::format("{} experts at most, {} are routed", kMaxExperts, scores.d));
  Drafter::Experts e;
  e.top = node.integer("top");
  e.n_experts = scores.d;
  e.rows = v.rows;
  e.all_rows = {rows_of(v.rows), 1};
  Place chosen;
  if (const ValueId ids = node.wire("chosen"); ids != kNoValue)
    chosen = ETCH_TRY(d.contiguous(ETCH_TRY(d.operand(ids)))).place;
  e.ids = d.make(v.name + " (experts)", v.rows, {e.top}, Representation::i32).place;
  e.weights = d.make(v.name + " (weights)", v.rows, {e.top}).place;
  const Place bias = ETCH_TRY(d.floats(node.wire("bias")));
  DraftCall& call = d.emit(ArgsKind::route, "route");
  call.set_view("scores", scores);
  call.set("bias", bias);
  call.set("chosen", chosen);
  call.set("experts", e.ids);
  call.set("weights", e.weights);
  call.set("n_experts", static_cast<int32_t>(e.n_experts));
  call.set("top", static_cast<int32_t>(e.top));
  call.set("score", score_number(node.symbol("score", Symbol::none)));
  const int64_t groups = node.integer("groups", 1);
  call.set("groups", static_cast<int32_t>(groups));
  call.set("top_groups", static_cast<int32_t>(node.integer("top_groups", groups)));
  call.set("renorm", static_cast<int32_t>(node.truth("renorm")));
  call.set("scale", static_cast<float>(node.number("scale", 1)));
  call.set_rows(scores.rows);
  d.experts[node.outputs[0]] = e;
  return {};
}

Status lower_linear_experts(Drafter& d, const Node& node) {
  const auto it = d.experts.find(node.inputs[1]);
  const WeightView* w = d.weight(node.inputs[2]);
  if (it == d.experts.end() || w == nullptr || w->shape.size() != 3)
    return d.unsupported(node, "it needs a routing and a stack of weights");
  Drafter::Experts& e = it->second;
  const Operand x = ETCH_TRY(d.operand(node.inputs[0]));
  if (x.shape.size() > 2)
    return d.unsupported(node, "inputs of more than [top, d] have no kernel yet");
  const Place order = order_of(d, e);
  const Place bias = ETCH_TRY(d.floats(node.wire("bias")));
  const RowsView from = ETCH_TRY(d.rows(ETCH_TRY(d.contiguous(x))));
  const Operand y = d.make(node.outputs[0]);
  DraftCall& call = d.emit(ArgsKind::expert_matmul, "expert_matmul");
  d.set_tensor(call, *w);
  const int64_t base = w->offsets[0] >> 56 << 56;  // the mapping, or a weight base
  std::vector<int64_t> offsets = w->offsets;
  for (int64_t& offset : offsets) offset -= base;
  call.set("base", Place{Space::file, base, -1});
  call.set("weights", d.constants.add_numbers<int64_t>(offsets));
  call.set("bias", bias);
  call.set("experts", e.ids);
  call.set("order", order);
  call.set("y", y.place);
  call.set("n_in", w->shape[2]);
  call.set("n_out", w->shape[1]);
  call.set("row_bytes", row_bytes(w->dtype, w->shape[2]));
  call.set("x_per_slot", static_cast<int32_t>(x.shape.size() == 2));
  call.set("n_used", static_cast<int32_t>(e.top));
  call.set("n_experts", static_cast<int32_t>(w->shape[0]));
  call.set("divisor", static_cast<int32_t>(node.integer("divisor", 1)));
  call.set_rows(e.all_rows);
  call.x = from;
  return {};
}

Status lower_expert_weights(Drafter& d, const Node& node) {
  const auto it = d.experts.find(node.inputs[0]);
  if (it == d.experts.end()) return d.unsupported(node, "it needs a routing");
  const Drafter::Experts& e = it->second;
  d.define(node.outputs[0], {e.weights, e.rows, 4 * e.top, {e.top, 1}, {4, 4}});
  return {};
}

Status lower_mix(Drafter& d, const Node& node) {
  const auto it = d.experts.find(node.inputs[1]);
  if (it == d.experts.end()) return d.unsupported(node, "it needs a routing");
  const Drafter::Experts& e = it->second;
  Operand x = ETCH_TRY(d.contiguous(ETCH_TRY(d.operand(node.inputs[0]))));
  const int64_t width = count_elements(x.shape) / e.top;
  const RowsView y = ETCH_TRY(d.rows(d.make(node.outputs[0])));
  DraftCall& call = d.emit(ArgsKind::mix, "mix");
  if (!node.truth("plain")) call.set("weights", e.weights);
  call.set("x.at", x.place);
  call.set("x.row_stride", x.row_stride);
  call.set("x.inner_stride", 4 * width);
  call.set("y.at", y.at);
  call.set("y.row_stride", 4 * width);
  call.set("y.inner_stride", 4 * width);
  call.set("d", width);
  call.set("n_used", static_cast<int32_t>(e.top));
  call.set_rows(e.all_rows);
  return {};
}

}  // namespace etch
