// The rows that want outputs, together. An item is a row.
#pragma once

#include "kernels/ops/words.h"

namespace etch::ETCH_ISA {

static inline void gather(const void* args, const etch_thread* thread, int64_t first,
                          int64_t last) {
  const etch_gather& a = *static_cast<const etch_gather*>(args);
  for (int64_t r = first; r < last; ++r) {
    const uint8_t* const x = a.x.at + thread->step->output_rows[r] * a.x.row_stride;
    __builtin_memcpy(a.y.at + r * a.y.row_stride, x, static_cast<size_t>(a.d) * 4);
  }
}

}  // namespace etch::ETCH_ISA
