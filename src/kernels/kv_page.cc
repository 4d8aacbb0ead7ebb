#include "kernels/kv_page.h"

#include "kernels/attend_work.h"
#include "kernels/kernel.h"

namespace etch {
namespace {

int64_t kv_number_bytes(KvType type) {
  switch (type) {
    case KvType::f32:
      return 4;
    case KvType::f16:
    case KvType::bf16:
      return 2;
    case KvType::q8_0:
      return 1;
  }
  return 0;
}

}  // namespace

int64_t kv_page_bytes(KvType type, int64_t n, int64_t d_k, int64_t d_v) {
  return n * kv::head_bytes(kv_number_bytes(type), d_k, d_v);
}

// Blocks are shared out for at most so many rows that their kv heads are fewer than four a thread.
int64_t attend_partial_floats(int64_t n_q, int64_t n_kv, int64_t d_v, int64_t n_ctx,
                              int64_t n_threads) {
  if (!attend_work::splits_blocks(1, n_kv, n_threads)) return 0;
  const int64_t rows = (4 * n_threads - 1) / n_kv;
  const int64_t blocks = attend_work::ceil_div(n_ctx, attend_work::kBlock);
  return rows * blocks * n_q * attend_work::partial_floats(d_v);
}

}  // namespace etch
