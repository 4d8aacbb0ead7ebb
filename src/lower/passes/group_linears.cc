// act(x G^T) * (x U^T): one call over the rows of both matrices, which reads x once and keeps the
// gate in registers. (q, k and v of one x need no rewrite: they share its conversion, and
// schedule() puts them side by side without a barrier.)
#include "lower/passes.h"
#include "lower/uses.h"

namespace etch {
namespace {

bool is_product(const DraftCall& call) {
  return call.kind == ArgsKind::matmul || call.kind == ArgsKind::expert_matmul;
}

bool is_plain(const DraftCall& call) {
  if (call.i32("activation") != ETCH_ACT_NONE) return false;
  if (call.kind == ArgsKind::expert_matmul) return call.place("gates").space == Space::none;
  return !call.has("gate") && !call.has("residual");
}

bool equal_place(const Place& a, const Place& b) {
  return a.space == b.space && a.offset == b.offset && a.buffer == b.buffer;
}

// Two products that differ in their weights and biases alone.
bool are_alike(const DraftCall& a, const DraftCall& b) {
  if (a.kind != b.kind || a.weight != b.weight || !(a.x == b.x) || !is_plain(a) || !is_plain(b))
    return false;
  if (a.rows().of != b.rows().of || a.rows().per != b.rows().per) return false;
  for (const char* field : {"n_in", "n_out", "row_bytes"})
    if (a.i64(field) != b.i64(field)) return false;
  if (a.kind == ArgsKind::matmul) return true;
  for (const char* field : {"x_per_slot", "n_used", "n_experts", "divisor"})
    if (a.i32(field) != b.i32(field)) return false;
  for (const char* field : {"base", "experts", "order"})
    if (!equal_place(a.place(field), b.place(field))) return false;
  return true;
}

// The rows of a product's result, and the distance between them.
etch_rows result_rows(const DraftCall& product) {
  etch_rows rows = product.rows();
  if (product.kind == ArgsKind::expert_matmul) rows.per *= product.i32("n_used");
  return rows;
}
int64_t result_stride(const DraftCall& product) {
  return product.kind == ArgsKind::matmul ? product.i64("y_stride") : 4 * product.i64("n_out");
}

// mul(f, g) with the gate behind operand f, perhaps through an activation.
bool group(Draft& draft, const Uses& uses, DraftCall& mul, const char* f, const char* g,
           bool with_activation) {
  DraftCall* up = uses.maker_for(draft, mul.place(g), mul);
  DraftCall* gate = uses.maker_for(draft, mul.place(f), mul);
  if (up == nullptr || gate == nullptr || !is_product(*up)) return false;
  const etch_rows rows = result_rows(*up);
  const int64_t n = up->i64("n_out");
  std::optional<int64_t> gate_stride = stride_as_rows(mul, f, rows, n);
  DraftCall* act = nullptr;
  int32_t activation = ETCH_ACT_NONE;
  if (with_activation) {
    act = gate;
    const auto found = activation_of(*act);
    if (!found || stride_as_rows(*act, "y", rows, n) != gate_stride) return false;
    activation = *found;
    gate_stride = stride_as_rows(*act, "a", rows, n);
    gate = uses.maker_for(draft, act->place("a"), *act);
    if (gate == nullptr) return false;
  }
  if (!is_product(*gate) || gate == up || !are_alike(*gate, *up)) return false;
  const auto y = stride_as_rows(mul, "y", rows, n);
  if (gate_stride != result_stride(*gate) ||
      stride_as_rows(mul, g, rows, n) != result_stride(*up) || !y)
    return false;
  if (up->kind == ArgsKind::matmul) {
    up->set("gate", gate->place("weight"));
    up->set("y_stride", *y);
  } else {
    if (*y != 4 * n) return false;
    up->set("gates", gate->place("weights"));
  }
  up->set("gate_bias", gate->place("bias"));
  up->set("activation", activation);
  up->set("y", mul.place("y"));
  up->origin.tensor = gate->origin.tensor + " & " + up->origin.tensor;
  gate->dead = true;
  if (act != nullptr) act->dead = true;
  move_to(*up, mul);
  return true;
}

}  // namespace

int64_t group_linears(Draft& draft, const Target&) {
  int64_t changes = 0;
  const Uses uses(draft);
  for (const bool with_activation : {true, false}) {
    for (DraftCall& mul : draft.calls) {
      if (mul.dead || !is_elementwise(mul, ETCH_EW_MUL)) continue;
      if (group(draft, uses, mul, "a", "b", with_activation) ||
          group(draft, uses, mul, "b", "a", with_activation))
        ++changes;
    }
  }
  return changes;
}

}  // namespace etch
