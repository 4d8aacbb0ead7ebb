// Which bytes a thread will need next. A thread's matrices are passes over tiles of 16 rows, one
// after the other in memory (with a gate: gate tile, weight tile, gate tile, ...); the last of them
// are followed by the first ones of the next matrix. While a pass is at work, the pass two further
// is pulled into L2, line by line: one tile ahead is too late, other hints and other orders are
// useless (measured).
#pragma once

#include "kernels/ops/rows.h"
#include "kernels/share.h"

namespace etch::ETCH_ISA {

struct Ahead {
  const uint8_t* at = nullptr;
  const uint8_t* end = nullptr;

  // Pulls `bytes` more, rounded up to lines.
  template <int64_t bytes>
  ETCH_METHOD void step() {
    constexpr int64_t kLines = (bytes + 63) / 64;
    if (at >= end) return;
    for (int64_t i = 0; i < kLines; ++i) __builtin_prefetch(at + 64 * i, 0, 2);
    at += 64 * kLines;
  }
  ETCH_METHOD void lines(int64_t n) {
    for (int64_t i = 0; i < n && at < end; ++i, at += 64) __builtin_prefetch(at, 0, 2);
  }
};

// Pass p of the share of `thread`, counted from its first tile; nothing behind the end of it and
// its successor.
static inline Ahead pass_ahead(const etch_matmul& a, const etch_thread* thread, int64_t p) {
  const etch_matmul* m = &a;
  for (int i = 0; i < 2 && m != nullptr; ++i, m = m->next) {
    const int64_t tiles = (m->n_out + 15) / 16;
    const int64_t first = share(tiles, thread->index, thread->count);
    const int64_t passes =
        (m->gate == nullptr ? 1 : 2) * (share(tiles, thread->index + 1, thread->count) - first);
    if (p >= passes) {
      p -= passes;
      continue;
    }
    const int64_t tile = first + (m->gate == nullptr ? p : p / 2);
    const uint8_t* const matrix = m->gate != nullptr && p % 2 == 0 ? m->gate : m->weight;
    const int64_t end = tile * 16 + 16 < m->n_out ? tile * 16 + 16 : m->n_out;
    return {matrix + tile * 16 * m->row_bytes, matrix + end * m->row_bytes};
  }
  return {};
}

}  // namespace etch::ETCH_ISA
