#include "study/work.h"

#include "lowered/arguments.h"

namespace etch {

Work work_of(const CallList& list) {
  Work work;
  for (const Call& call : list.calls) {
    const bool plain = call.kernel->args == ArgsKind::matmul;
    if (!plain && call.kernel->args != ArgsKind::expert_matmul) continue;
    const int64_t per = argument<int32_t>(call, "rows.per");
    const bool gated = argument<Place>(call, plain ? "gate" : "gates").space != Space::none;
    int64_t matrices = gated ? 2 : 1;
    if (!plain) matrices *= argument<int32_t>(call, "n_used");
    const int64_t macs =
        matrices * per * argument<int64_t>(call, "n_in") * argument<int64_t>(call, "n_out");
    work.weight_bytes +=
        matrices * argument<int64_t>(call, "n_out") * argument<int64_t>(call, "row_bytes");
    (argument<int32_t>(call, "rows.of") == ETCH_OUTPUTS ? work.macs_per_output
                                                        : work.macs_per_row) += macs;
  }
  return work;
}

}  // namespace etch
