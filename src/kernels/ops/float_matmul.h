// Products with float weights: 16 partial sums (arithmetic.md section 3), which are the lanes of a
// float word. Any number of columns.
#pragma once

#include "kernels/ops/tiles.h"
#include "kernels/simd/unrolled.h"

namespace etch::ETCH_ISA {

// How 16 weights, or the n last of a row, are read.
struct weights_f32 {
  static constexpr int kBytes = 4;
  ETCH_WORD floats::f load(const uint8_t* p) {
    return floats::load(reinterpret_cast<const float*>(p));
  }
};
struct weights_f16 {
  static constexpr int kBytes = 2;
  ETCH_WORD floats::f load(const uint8_t* p) {
    return floats::load_f16(reinterpret_cast<const uint16_t*>(p));
  }
};
struct weights_bf16 {
  static constexpr int kBytes = 2;
  ETCH_WORD floats::f load(const uint8_t* p) {
    return floats::load_bf16(reinterpret_cast<const uint16_t*>(p));
  }
};

// rows x columns words of sums, a word of each row and one of a column: as many as there are
// registers.
#if ETCH_ROWS_ABREAST == 16
constexpr int kFloatRows = 4, kFloatColumns = 6, kFloatRowsOfOne = 8;
#elif ETCH_ROWS_ABREAST == 8
constexpr int kFloatRows = 2, kFloatColumns = 2, kFloatRowsOfOne = 4;
#else
constexpr int kFloatRows = 1, kFloatColumns = 1, kFloatRowsOfOne = 1;
#endif

// kRows rows from the first-th on with kColumns columns. Behind the last row there are copies of
// it.
template <class Weights, int kRows, int kColumns>
static __attribute__((noinline)) void float_products(const uint8_t* tile, int first, int valid,
                                                     int64_t row_bytes, int64_t n_in,
                                                     const uint8_t* const* x, float (*out)[16],
                                                     Ahead& ahead) {
  using W = floats;
  const uint8_t* rows[kRows];
  for (int r = 0; r < kRows; ++r)
    rows[r] = tile + (first + r < valid ? first + r : valid - 1) * row_bytes;
  typename W::f sum[kRows][kColumns];
  const auto each = [](auto body) ETCH_LAMBDA {
    unrolled<kRows>(
        [&](auto r) ETCH_LAMBDA { unrolled<kColumns>([&](auto c) ETCH_LAMBDA { body(r, c); }); });
  };
  each([&](auto r, auto c) ETCH_LAMBDA { sum[r][c] = W::set(0.0f); });
  int64_t k = 0;
  for (; k + 16 <= n_in; k += 16) {
    ahead.step<kRows * 16 * Weights::kBytes>();
    typename W::f w[kRows];
    unrolled<kRows>([&](auto r)
                        ETCH_LAMBDA { w[r] = Weights::load(rows[r] + k * Weights::kBytes); });
    unrolled<kColumns>([&](auto c) ETCH_LAMBDA {
      const auto column = W::load(reinterpret_cast<const float*>(x[c]) + k);
      unrolled<kRows>([&](auto r) ETCH_LAMBDA { sum[r][c] = W::fma(w[r], column, sum[r][c]); });
    });
  }
  if (k < n_in) {
    each([&](auto r, auto c) ETCH_LAMBDA {
      alignas(64) uint8_t rest[16 * Weights::kBytes] = {};
      __builtin_memcpy(rest, rows[r] + k * Weights::kBytes,
                       static_cast<size_t>((n_in - k) * Weights::kBytes));
      const auto column = W::load_first(reinterpret_cast<const float*>(x[c]) + k, n_in - k);
      sum[r][c] = W::fma(Weights::load(rest), column, sum[r][c]);
    });
  }
  each([&](auto r, auto c) ETCH_LAMBDA { out[c][first + r] = W::reduce_add(sum[r][c]); });
}

template <class Weights>
struct FloatProduct {
  static constexpr int kColumns = kFloatColumns;
  static constexpr bool kWholeTiles = false;
  ETCH_WORD void product(int n, const uint8_t* rows, int valid, int64_t row_bytes, int64_t n_in,
                         const uint8_t** x, float (*out)[16], Ahead& ahead) {
    for (int c = n; c < kColumns; ++c) x[c] = x[n - 1];
    const int step = n == 1 ? kFloatRowsOfOne : kFloatRows;
    for (int r = 0; r < valid; r += step) {
      if (n == 1) {
        float_products<Weights, kFloatRowsOfOne, 1>(rows, r, valid, row_bytes, n_in, x, out, ahead);
      } else if (n <= kColumns / 2) {
        float_products<Weights, kFloatRows, (kColumns + 1) / 2>(rows, r, valid, row_bytes, n_in, x,
                                                                out, ahead);
      } else {
        float_products<Weights, kFloatRows, kColumns>(rows, r, valid, row_bytes, n_in, x, out,
                                                      ahead);
      }
    }
  }
};

template <class Weights>
static void float_matmul(const void* args, const etch_thread* thread, int64_t first, int64_t last) {
  dense_tiles<FloatProduct<Weights>>(args, thread, first, last);
}

template <class Weights>
static void float_expert_matmul(const void* args, const etch_thread* thread, int64_t first,
                                int64_t last) {
  expert_tiles<FloatProduct<Weights>>(args, thread, first, last);
}

}  // namespace etch::ETCH_ISA
