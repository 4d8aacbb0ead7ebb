// What the kernels over float words share: W, the words of the instruction set being compiled, and
// rows of floats.
#pragma once

#include "kernels/math.h"
#include "kernels/ops/rows.h"

namespace etch::ETCH_ISA {

using W = floats;
using Word = W::f;

// Floats of a word: lanes, partial sums, positions of a K panel.
static constexpr int64_t kFloats = ETCH_PARTIAL_SUMS;

// f(k, n) for each word k .. k + n - 1 of d elements, n = 16 but for the last. Whole words have a
// constant n, so that a load or store of n lanes is a plain one; scalar code, where every lane is a
// copy of f, has one loop for both.
template <class F>
ETCH_INLINE void for_words(int64_t d, F f) {
  int64_t k = 0;
  if constexpr (W::kWide)
    for (; k + kFloats <= d; k += kFloats) f(k, kFloats);
  for (; k < d; k += kFloats) f(k, d - k < kFloats ? d - k : kFloats);
}

ETCH_INLINE Word load_some(const float* p, int64_t n) {
  return n == kFloats ? W::load(p) : W::load_first(p, n);
}
ETCH_INLINE void store_some(float* p, Word a, int64_t n) {
  if (n == kFloats)
    W::store(p, a);
  else
    W::store_first(p, a, n);
}

ETCH_INLINE float* floats_of(const etch_view& v, const etch_rows& rows, int64_t r) {
  return reinterpret_cast<float*>(row_of(v, rows, r));
}

// The row of the step that row r of a call belongs to.
ETCH_INLINE int64_t token_of(const etch_rows& rows, const etch_step& step, int64_t r) {
  const int64_t row = r / rows.per;
  return rows.of == ETCH_OUTPUTS ? step.output_rows[row] : row;
}

}  // namespace etch::ETCH_ISA
