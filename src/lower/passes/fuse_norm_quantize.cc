// A norm whose rows are quantised and nothing else: one call that never stores the float32 rows.
#include "lower/kernel_choice.h"
#include "lower/passes.h"
#include "lower/uses.h"

namespace etch {

int64_t fuse_norm_quantize(Draft& draft, const Target& target) {
  int64_t changes = 0;
  const Uses uses(draft);
  for (DraftCall& quantize : draft.calls) {
    if (quantize.dead || quantize.kind != ArgsKind::quantize) continue;
    DraftCall* norm = uses.maker_for(draft, quantize.place("x.at"), quantize);
    if (norm == nullptr || norm->kind != ArgsKind::norm || norm->has("packed")) continue;
    const int64_t d = norm->i64("d");
    if (quantize.i64("d") != d || !(norm->view("y", d) == quantize.view("x", d))) continue;
    DraftCall fused = *norm;
    fused.output = quantize.output;
    fused.kernel = nullptr;
    const etch_kernel* kernel = find_kernel_for(fused, target);
    if (kernel == nullptr) continue;
    fused.kernel = kernel;
    fused.set("y.at", Place{});
    fused.set("y.row_stride", int64_t{0});
    fused.set("y.inner_stride", int64_t{0});
    fused.set("packed", quantize.place("packed"));
    *norm = std::move(fused);
    quantize.dead = true;
    ++changes;
  }
  return changes;
}

}  // namespace etch
