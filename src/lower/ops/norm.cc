// Norms, softmax and sum over the last axis.
#include "lower/ops/ops.h"
#include "ops/op.h"

namespace etch {
namespace {

// A weight over more than the last axis: its rows belong to the inner rows of x.
Status set_weight(Drafter& d, const Node& node, DraftCall& call, std::string_view field,
                  const RowsView& x) {
  const ValueId v = node.wire(field);
  if (v == kNoValue) return {};
  call.set(field, ETCH_TRY(d.floats(v)));
  const std::vector<int64_t>& shape = d.value(v).shape;
  const int64_t rows = count_elements(shape) / x.d;
  if (rows == 1) return {};
  if (rows != x.rows.per)
    return d.unsupported(node, "a weight over some of the leading axes has no kernel yet");
  call.set("weight_stride", 4 * x.d);
  return {};
}

}  // namespace

Status lower_norm(Drafter& d, const Node& node) {
  const RowsView x = ETCH_TRY(d.rows(ETCH_TRY(d.operand(node.inputs[0]))));
  const RowsView y = ETCH_TRY(d.rows(d.make(node.outputs[0])));
  DraftCall call = make_call(ArgsKind::norm, std::string(name(node.op)));
  call.set_view("x", x);
  call.set_view("y", y);
  call.set("d", x.d);
  call.set("eps", static_cast<float>(node.number("eps")));
  call.set_rows(x.rows);
  ETCH_TRY(set_weight(d, node, call, "weight", x));
  ETCH_TRY(set_weight(d, node, call, "bias", x));
  DraftCall& emitted = d.emit(ArgsKind::norm, call.op);
  call.origin = emitted.origin;
  emitted = std::move(call);
  if (const WeightView* w = d.weight(node.wire("weight"))) emitted.origin.tensor = w->tensor;
  return {};
}

}  // namespace etch
