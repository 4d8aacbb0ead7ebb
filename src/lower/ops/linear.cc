// Products: with weights (one matrix, or one per first index), and of two wires.
#include <fmt/core.h>

#include "lower/ops/ops.h"

namespace etch {
namespace {

// One matrix times the rows of x. x becomes what the kernel reads when it is chosen.
Status emit_product(Drafter& d, const WeightView& w, size_t matrix, const Operand& x,
                    const Operand& y) {
  const RowsView from = ETCH_TRY(d.rows(x));
  const RowsView to = ETCH_TRY(d.rows(y));
  const int64_t n_out = w.shape[w.shape.size() - 2], n_in = w.shape.back();
  DraftCall& call = d.emit(ArgsKind::matmul, "matmul");
  d.set_tensor(call, w);
  if (w.offsets.size() > 1) call.origin.tensor += fmt::format("[{}]", matrix);
  call.set("weight", w.at(matrix));
  call.set("y", to.at);
  call.set("y_stride", to.uniform_stride());
  call.set("n_in", n_in);
  call.set("n_out", n_out);
  call.set("row_bytes", row_bytes(w.dtype, n_in));
  call.set_rows(from.rows);
  call.x = from;
  return {};
}

// Entry i of the first axis.
Operand entry(const Operand& x, int64_t i) {
  Operand e = x;
  e.place.offset += i * x.strides[0];
  e.shape.erase(e.shape.begin());
  e.strides.erase(e.strides.begin());
  return e;
}

Status add_bias(Drafter& d, const Node& node, const Operand& product, const Operand& y) {
  const Operand bias = ETCH_TRY(d.operand(node.wire("bias")));
  return d.elementwise({.op = ETCH_EW_ADD, .a = &product, .b = &bias}, y);
}

// y = x W^T of two wires.
Status product_of_wires(Drafter& d, const Operand& a, const Operand& b, int64_t b_row,
                        int64_t b_column, int64_t n, const Operand& y) {
  const RowsView rows_a = ETCH_TRY(d.rows(a));
  const RowsView rows_y = ETCH_TRY(d.rows(y));
  DraftCall& call = d.emit(ArgsKind::wire_matmul, "wire_matmul");
  call.set_view("a", rows_a);
  call.set("b.at", b.place);
  call.set("b.row_stride", b.row_stride);
  call.set("b.inner_stride", b_row);
  call.set("b_column_stride", b_column);
  call.set_view("y", rows_y);
  call.set("m", int64_t{rows_a.rows.per});
  call.set("k", rows_a.d);
  call.set("n", n);
  call.set("rows_of", rows_y.rows.of);
  return {};
}

}  // namespace

Status lower_linear(Drafter& d, const Node& node) {
  const Operand x = ETCH_TRY(d.operand(node.inputs[0]));
  const bool has_bias = node.wire("bias") != kNoValue;
  Operand y = d.make(node.outputs[0]);
  Operand product = y;
  if (has_bias) {
    const Value& v = d.value(node.outputs[0]);
    product = d.make(v.name + " (product)", v.rows, v.shape);
  }
  const WeightView* w = d.weight(node.inputs[1]);
  if (w == nullptr) {
    const Operand wire = ETCH_TRY(d.operand(node.inputs[1]));
    if (wire.shape.size() != 2)
      return d.unsupported(node, "a computed stack of matrices has no kernel yet");
    ETCH_TRY(
        product_of_wires(d, x, wire, wire.strides[1], wire.strides[0], wire.shape[0], product));
  } else if (w->shape.size() == 3) {
    for (int64_t i = 0; i < w->shape[0]; ++i)
      ETCH_TRY(emit_product(d, *w, static_cast<size_t>(i), entry(x, i), entry(product, i)));
  } else {
    ETCH_TRY(emit_product(d, *w, 0, x, product));
  }
  return has_bias ? add_bias(d, node, product, y) : Status{};
}

Status lower_matmul(Drafter& d, const Node& node) {
  const Operand a = ETCH_TRY(d.operand(node.inputs[0]));
  const Operand b = ETCH_TRY(d.operand(node.inputs[1]));
  return product_of_wires(d, a, b, b.strides[0], b.strides[1], b.shape[1], d.make(node.outputs[0]));
}

}  // namespace etch
