// Products of two wires: y [m, n] = a [m, k] b [k, n] per row of the step. An item is one row of y.
// 16 columns of b are the lanes; the 16 partial sums of a product (element k to partial k mod 16)
// are 16 words.
#pragma once

#include "kernels/ops/elementwise.h"

namespace etch::ETCH_ISA {

static inline void wire_matmul(const void* args, const etch_thread*, int64_t first, int64_t last) {
  const etch_wire_matmul& w = *static_cast<const etch_wire_matmul*>(args);
  for (int64_t item = first; item < last; ++item) {
    const int64_t row = item / w.m, i = item % w.m;
    const auto* const a =
        reinterpret_cast<const float*>(w.a.at + row * w.a.row_stride + i * w.a.inner_stride);
    auto* const y = reinterpret_cast<float*>(w.y.at + row * w.y.row_stride + i * w.y.inner_stride);
    for_words(w.n, [&](int64_t column, int64_t n) {
      const uint8_t* const b = w.b.at + row * w.b.row_stride + column * w.b_column_stride;
      Word sums[kFloats];
      for (Word& s : sums) s = W::set(0.0f);
      for (int64_t k = 0; k < w.k; ++k)
        sums[k % kFloats] = W::fma(
            W::set(a[k]), fetch(b + k * w.b.inner_stride, w.b_column_stride, n), sums[k % kFloats]);
      for (int64_t half = kFloats / 2; half > 0; half /= 2)
        for (int64_t k = 0; k < half; ++k) sums[k] = W::add(sums[k], sums[k + half]);
      store_some(y + column, W::add(sums[0], W::set(0.0f)), n);
    });
  }
}

}  // namespace etch::ETCH_ISA
