// embed(t, ids) * c: the factor of embed, which rounds the product once, as the separate call does.
#include "lower/passes.h"
#include "lower/uses.h"

namespace etch {

int64_t fuse_embed_scale(Draft& draft, const Target&) {
  int64_t changes = 0;
  const Uses uses(draft);
  for (DraftCall& mul : draft.calls) {
    if (mul.dead || !is_elementwise(mul, ETCH_EW_MUL)) continue;
    const bool left = mul.place("a").space == Space::none;
    const char* rows_field = left ? "b" : "a";
    if (!left && mul.place("b").space != Space::none) continue;  // no number
    DraftCall* embed = uses.maker_for(draft, mul.place(rows_field), mul);
    if (embed == nullptr || embed->kind != ArgsKind::embed ||
        std::get<float>(embed->get("factor")) != 1.0f)
      continue;
    const etch_rows rows = embed->rows();
    const int64_t d = embed->i64("d");
    const auto y = stride_as_rows(mul, "y", rows, d);
    if (!y || stride_as_rows(mul, rows_field, rows, d) != embed->view("y", d).uniform_stride())
      continue;
    embed->set("factor", std::get<float>(mul.get("constant")));
    embed->set_view("y", {mul.place("y"), *y * rows.per, *y, rows, d});
    move_to(*embed, mul);
    ++changes;
  }
  return changes;
}

}  // namespace etch
