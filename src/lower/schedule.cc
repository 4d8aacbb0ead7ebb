#include "lower/schedule.h"

#include <string>

#include "lower/schedule_steps.h"

namespace etch {
namespace {

// What kernels need for themselves.
void add_scratch(Draft& draft) {
  for (DraftCall& call : draft.calls) {
    if (call.kernel->scratch_bytes == nullptr) continue;
    if (call.kind != ArgsKind::matmul && call.kind != ArgsKind::expert_matmul &&
        call.kind != ArgsKind::attend)
      continue;
    const int64_t bytes = call.kernel->scratch_bytes(encode_sizes(call).data());
    if (bytes <= 0) continue;
    Affine size;
    size.fixed = align_up(bytes);
    const int32_t slot = draft.add_slot({.name = "scratch of " + std::string(call.kernel->name),
                                         .space = Space::thread,
                                         .size = size});
    call.set("scratch", Place{Space::thread, 0, slot});
  }
}

void find_all_accesses(Draft& draft) {
  for (DraftCall& call : draft.calls) find_accesses(draft, call);
}

// Each matrix knows the next one, whose first tile a thread prefetches.
void link_matmuls(Draft& draft) {
  int32_t next = -1;
  for (size_t i = draft.calls.size(); i-- > 0;) {
    if (draft.calls[i].kind != ArgsKind::matmul) continue;
    draft.calls[i].set("next", CallRef{next});
    next = static_cast<int32_t>(i);
  }
}

}  // namespace

void schedule(Draft& draft) {
  add_scratch(draft);
  find_all_accesses(draft);
  repeat_in_every_thread(draft);
  order_calls(draft);
  work_in_place(draft);
  place_barriers(draft);
  link_matmuls(draft);
}

}  // namespace etch
