// Rows of a table by ids: the step's tokens, an input, or the experts of a routing.
#include "lower/ops/ops.h"

namespace etch {

Status lower_embed(Drafter& d, const Node& node) {
  const WeightView* table = d.weight(node.inputs[0]);
  if (table == nullptr) return d.unsupported(node, "the table must be a weight");
  if (d.value(node.outputs[0]).kind == Value::Kind::ids)
    return d.unsupported(node, "tables of integers have no kernel yet");
  const ValueId ids = node.inputs[1];
  Place at;
  if (const auto it = d.experts.find(ids); it != d.experts.end()) {
    at = it->second.ids;
  } else {
    const Operand operand = ETCH_TRY(d.operand(ids));
    at = ETCH_TRY(d.contiguous(operand)).place;  // none: the step's tokens
  }
  const RowsView y = ETCH_TRY(d.rows(d.make(node.outputs[0])));
  DraftCall& call = d.emit(ArgsKind::embed, "embed");
  d.set_tensor(call, *table);
  call.set("table", table->at());
  call.set("ids", at);
  call.set_view("y", y);
  call.set("d", table->shape[1]);
  call.set("n_table", table->shape[0]);
  call.set("factor", 1.0f);
  call.set_rows(y.rows);
  return {};
}

}  // namespace etch
