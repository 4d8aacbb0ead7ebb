// Whole tiles of weight rows.
#pragma once

#include "kernels/ops/rows.h"

namespace etch::ETCH_ISA {

// Rows first .. first + rows - 1 of a matrix, or, if those are not all there, a copy of them in
// scratch, filled up with copies of the last: kernels read whole tiles, and never a byte that is
// not of the matrix.
static inline const uint8_t* whole_tile(const uint8_t* matrix, int64_t first, int64_t n_out,
                                        int64_t row_bytes, int rows, uint8_t* scratch) {
  if (first + rows <= n_out) return matrix + first * row_bytes;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t from = first + r < n_out ? first + r : n_out - 1;
    __builtin_memcpy(scratch + r * row_bytes, matrix + from * row_bytes,
                     static_cast<size_t>(row_bytes));
  }
  return scratch;
}

}  // namespace etch::ETCH_ISA
