// y = x W^T, then r + y: one call, which may write where r stands if nobody needs r afterwards
// (schedule.cc sees to that).
#include "lower/passes.h"
#include "lower/uses.h"

namespace etch {

int64_t fuse_residual(Draft& draft, const Target&) {
  int64_t changes = 0;
  const Uses uses(draft);
  for (DraftCall& add : draft.calls) {
    if (add.dead || !is_elementwise(add, ETCH_EW_ADD)) continue;
    for (const auto& [product, residual] : {std::pair("b", "a"), std::pair("a", "b")}) {
      DraftCall* matmul = uses.maker_for(draft, add.place(product), add);
      if (matmul == nullptr || matmul->kind != ArgsKind::matmul || matmul->has("residual") ||
          matmul->has("gate") || add.place(residual).buffer < 0 ||
          add.place(residual).buffer == add.place(product).buffer)
        continue;
      const etch_rows rows = matmul->rows();
      const int64_t n = matmul->i64("n_out");
      const auto r = stride_as_rows(add, residual, rows, n);
      const auto y = stride_as_rows(add, "y", rows, n);
      if (stride_as_rows(add, product, rows, n) != matmul->i64("y_stride") || !y || !r ||
          (*r == 0 && rows.per > 1))
        continue;
      matmul->set("residual", add.place(residual));
      matmul->set("residual_stride", *r);
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
