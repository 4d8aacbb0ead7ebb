// Which rows a call works on, where they stand, and how a row that went wrong is marked.
#pragma once

#include "kernels/simd/scalar_dot.h"

namespace etch::ETCH_ISA {

ETCH_WORD int64_t count_rows(const etch_rows& rows, const etch_thread* thread) {
  const int64_t n = rows.of == ETCH_TOKENS    ? thread->step->n_rows
                    : rows.of == ETCH_OUTPUTS ? thread->step->n_outputs
                                              : 1;
  return n * rows.per;
}

ETCH_WORD uint8_t* row_of(const etch_view& v, const etch_rows& rows, int64_t r) {
  return rows.per == 1 ? v.at + r * v.row_stride
                       : v.at + r / rows.per * v.row_stride + r % rows.per * v.inner_stride;
}

// Row r met a value that is not finite: its sequence fails, naming the call. What belongs to no
// token fails them all. Threads that repeat a call write the same number.
static inline void mark_failed(const etch_thread* thread, const etch_rows& rows, int64_t r) {
  const etch_step* const step = thread->step;
  int32_t first = 0, last = step->n_rows;
  if (rows.of == ETCH_TOKENS) {
    first = static_cast<int32_t>(r / rows.per);
    last = first + 1;
  } else if (rows.of == ETCH_OUTPUTS) {
    first = step->output_rows[r / rows.per];
    last = first + 1;
  }
  for (int32_t i = first; i < last; ++i)
    if (__atomic_load_n(&step->failed[i], __ATOMIC_RELAXED) == 0)
      __atomic_store_n(&step->failed[i], 1 + thread->call, __ATOMIC_RELAXED);
}

}  // namespace etch::ETCH_ISA
