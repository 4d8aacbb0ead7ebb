#include "lower/ops/ops.h"

namespace etch {

Status lower_rope(Drafter& d, const Node& node) {
  const RowsView x = ETCH_TRY(d.rows(ETCH_TRY(d.operand(node.inputs[0]))));
  const Place table = ETCH_TRY(d.rotary_table(node.rotary(), d.value(node.outputs[0]).rows));
  const RowsView y = ETCH_TRY(d.rows(d.make(node.outputs[0])));
  const Rotary& rotary = d.graph.rotaries[static_cast<size_t>(node.rotary())];
  DraftCall& call = d.emit(ArgsKind::rope, "rope");
  call.set_view("x", x);
  call.set_view("y", y);
  call.set("table", table);
  call.set("d", x.d);
  call.set("pairs", static_cast<int64_t>(rotary.frequencies.size()));
  call.set("layout",
           rotary.layout == Symbol::halves ? int32_t{ETCH_ROPE_HALVES} : int32_t{ETCH_ROPE_PAIRS});
  call.set("inverse", static_cast<int32_t>(node.truth("inverse")));
  call.set_rows(x.rows);
  return {};
}

}  // namespace etch
