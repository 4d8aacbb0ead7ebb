// act(x W^T + bias): the activation at the end of the product. act(a) * b elsewhere: one call.
#include "lower/passes.h"
#include "lower/uses.h"

namespace etch {
namespace {

bool into_product(Draft& draft, const Uses& uses, DraftCall& act, int32_t activation) {
  DraftCall* matmul = uses.maker_for(draft, act.place("a"), act);
  if (matmul == nullptr || matmul->kind != ArgsKind::matmul || matmul->has("residual") ||
      matmul->has("gate") || matmul->i32("activation") != ETCH_ACT_NONE)
    return false;
  const etch_rows rows = matmul->rows();
  const int64_t n = matmul->i64("n_out");
  const auto y = stride_as_rows(act, "y", rows, n);
  if (stride_as_rows(act, "a", rows, n) != matmul->i64("y_stride") || !y) return false;
  matmul->set("activation", activation);
  matmul->set("y", act.place("y"));
  matmul->set("y_stride", *y);
  move_to(*matmul, act);
  return true;
}

bool same_axes(const DraftCall& x, const char* x_field, const DraftCall& y, const char* y_field) {
  if (x.i32("rows_of") != y.i32("rows_of")) return false;
  for (int i = 0; i < 4; ++i)
    if (x.i64(fmt::format("sizes[{}]", i)) != y.i64(fmt::format("sizes[{}]", i)) ||
        x.i64(fmt::format("{}_strides[{}]", x_field, i)) !=
            y.i64(fmt::format("{}_strides[{}]", y_field, i)))
      return false;
  return true;
}

// mul(act(u), v) or mul(v, act(u)): act_mul(u, v).
bool into_mul(Draft& draft, const Uses& uses, DraftCall& mul) {
  for (const auto& [f, g] : {std::pair("a", "b"), std::pair("b", "a")}) {
    DraftCall* act = uses.maker_for(draft, mul.place(f), mul);
    if (act == nullptr || !activation_of(*act) || !same_axes(*act, "y", mul, f)) continue;
    const Place other = mul.place(g);
    if (other.space == Space::none) continue;  // a number
    int64_t strides[4];
    for (int i = 0; i < 4; ++i) strides[i] = mul.i64(fmt::format("{}_strides[{}]", g, i));
    mul.set("a", act->place("a"));
    mul.set("b", other);
    for (int i = 0; i < 4; ++i) {
      mul.set(fmt::format("a_strides[{}]", i), act->i64(fmt::format("a_strides[{}]", i)));
      mul.set(fmt::format("b_strides[{}]", i), strides[i]);
    }
    constexpr int32_t kDistance = ETCH_EW_SILU - ETCH_EW_SILU_MUL;  // both stand in the same order
    mul.set("op", act->i32("op") - kDistance);
    act->dead = true;
    return true;
  }
  return false;
}

}  // namespace

int64_t fuse_activation(Draft& draft, const Target&) {
  static_assert(ETCH_EW_RELU - ETCH_EW_RELU_MUL == ETCH_EW_SILU - ETCH_EW_SILU_MUL);
  int64_t changes = 0;
  {
    const Uses uses(draft);
    for (DraftCall& call : draft.calls)
      if (!call.dead && is_elementwise(call, ETCH_EW_MUL)) changes += into_mul(draft, uses, call);
  }
  const Uses uses(draft);
  for (DraftCall& call : draft.calls) {
    if (call.dead) continue;
    const auto activation = activation_of(call);
    if (activation && into_product(draft, uses, call, *activation)) ++changes;
  }
  return changes;
}

}  // namespace etch
