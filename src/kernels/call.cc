// One call of a kernel by one thread.
#include "etch/model_abi.h"
#include "kernels/kernel.h"
#include "kernels/share.h"

namespace {

bool is_stopped(const etch_step& step) {
  return step.stop != nullptr && __atomic_load_n(step.stop, __ATOMIC_RELAXED) != 0;
}

}  // namespace

void etch_call(const etch_kernel* kernel, etch_isa isa, const void* args, etch_thread* thread) {
  constexpr int64_t kPieceBytes = 64 * 1024;
  const int64_t items = kernel->items(args, thread);
  const int64_t last = etch::share(items, thread->index + 1, thread->count);
  const int64_t item_bytes = kernel->item_bytes == nullptr ? 0 : kernel->item_bytes(args);
  const int64_t piece = item_bytes <= 0 ? items : kPieceBytes / item_bytes + 1;
  const etch_kernel_fn f = kernel->fn[isa];
  for (int64_t first = etch::share(items, thread->index, thread->count); first < last;) {
    if (is_stopped(*thread->step)) return;
    const int64_t end = last - first > piece ? first + piece : last;
    f(args, thread, first, end);
    first = end;
  }
}

void etch_share(etch_worker* worker, const etch_kernel* kernel, const void* args) {
  etch_call(kernel, worker->isa, args, &worker->thread);
  ++worker->thread.call;
}

// A call that is not shared out is, to its kernel, a call on a team of one.
void etch_repeat(etch_worker* worker, const etch_kernel* kernel, const void* args) {
  etch_thread alone = worker->thread;
  alone.index = 0;
  alone.count = 1;
  etch_call(kernel, worker->isa, args, &alone);
  ++worker->thread.call;
}

void etch_alone(etch_worker* worker, const etch_kernel* kernel, const void* args) {
  if (worker->thread.index != 0) {
    ++worker->thread.call;
    return;
  }
  etch_repeat(worker, kernel, args);
}

void etch_meet(etch_worker* worker) {
  etch_team_barrier(worker->thread.team, worker->thread.index);
}
