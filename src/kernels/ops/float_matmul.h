// Products with float weights: 16 partial sums (arithmetic.md section 3). Any number of rows.
#pragma once

#include "kernels/ops/epilogue.h"

namespace etch::ETCH_ISA {

// How one weight is read.
struct weights_f32 {
  static constexpr int kBytes = 4;
  ETCH_WORD float at(const uint8_t* row, int64_t k) {
    float x;
    __builtin_memcpy(&x, row + 4 * k, 4);
    return x;
  }
};
struct weights_f16 {
  static constexpr int kBytes = 2;
  ETCH_WORD float at(const uint8_t* row, int64_t k) {
    uint16_t h;
    __builtin_memcpy(&h, row + 2 * k, 2);
    return half1(h);
  }
};
struct weights_bf16 {
  static constexpr int kBytes = 2;
  ETCH_WORD float at(const uint8_t* row, int64_t k) {
    uint16_t h;
    __builtin_memcpy(&h, row + 2 * k, 2);
    return float_of_bits(static_cast<uint32_t>(h) << 16);
  }
};

// The reduction of the 16 partial sums; the +0 makes tails that are padded and tails that are left
// out alike.
ETCH_WORD float sum_partials(float* p) {
  for (int width = 8; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) p[i] += p[i + width];
  return p[0] + 0.0f;
}

template <class W>
static inline float reference_float_product(const uint8_t* row, const float* x, int64_t n) {
  float p[ETCH_PARTIAL_SUMS] = {};
  for (int64_t k = 0; k < n; ++k)
    p[k % ETCH_PARTIAL_SUMS] = fma1(W::at(row, k), x[k], p[k % ETCH_PARTIAL_SUMS]);
  return sum_partials(p);
}

template <class W>
static void float_matmul(const void* args, const etch_thread* thread, int64_t first, int64_t last) {
  const auto& a = *static_cast<const etch_matmul*>(args);
  const int64_t n = count_rows(a.rows, thread);
  const int64_t end = last * 16 < a.n_out ? last * 16 : a.n_out;
  for (int64_t row = first * 16; row < end; row += 16) {
    const int rows = static_cast<int>(end - row < 16 ? end - row : 16);
    for (int64_t c = 0; c < n; ++c) {
      const auto* const x = reinterpret_cast<const float*>(a.x + c * a.x_stride);
      float product[16] = {}, gate[16] = {};
      for (int i = 0; i < rows; ++i) {
        product[i] = reference_float_product<W>(a.weight + (row + i) * a.row_bytes, x, a.n_in);
        if (a.gate != nullptr)
          gate[i] = reference_float_product<W>(a.gate + (row + i) * a.row_bytes, x, a.n_in);
      }
      store_products(a, c, row, rows, product, a.gate == nullptr ? nullptr : gate);
    }
  }
}

}  // namespace etch::ETCH_ISA
