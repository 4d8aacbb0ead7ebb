// y = x W^T, then y + bias: one call. The product is rounded, then the sum, as before.
#include "lower/passes.h"
#include "lower/uses.h"

namespace etch {

int64_t fuse_bias(Draft& draft, const Target&) {
  int64_t changes = 0;
  const Uses uses(draft);
  for (DraftCall& add : draft.calls) {
    if (add.dead || !is_elementwise(add, ETCH_EW_ADD)) continue;
    for (const auto& [product, bias] : {std::pair("a", "b"), std::pair("b", "a")}) {
      DraftCall* matmul = uses.maker_for(draft, add.place(product), add);
      if (matmul == nullptr || matmul->kind != ArgsKind::matmul) continue;
      const Space space = add.place(bias).space;
      if (space != Space::file && space != Space::constants) continue;
      if (matmul->has("bias") || matmul->has("residual") || matmul->has("gate") ||
          matmul->i32("activation") != ETCH_ACT_NONE)
        continue;
      const etch_rows rows = matmul->rows();
      const int64_t n = matmul->i64("n_out");
      const auto y = stride_as_rows(add, "y", rows, n);
      if (stride_as_rows(add, product, rows, n) != matmul->i64("y_stride") || !y ||
          stride_as_rows(add, bias, rows, n) != 0)
        continue;
      matmul->set("bias", add.place(bias));
      matmul->set("y", add.place("y"));
      matmul->set("y_stride", *y);
      move_to(*matmul, add);
      ++changes;
      break;
    }
  }
  return changes;
}

}  // namespace etch
