// Products with quantised weights, as arithmetic.md section 2 says them. What every other
// implementation must equal.
#pragma once

#include "kernels/ops/columns.h"
#include "kernels/ops/tiles.h"

namespace etch::ETCH_ISA {

// acc of one column behind one more block of 32.
template <class F>
ETCH_WORD float reference_block(const typename F::Block& b, const uint8_t* u,
                                const Column<Group32>& x, int64_t at, float acc) {
  const Group32& group = x.groups[at * x.group_stride];
  const int8_t* const q = x.codes + at * 8 * x.quad_stride;
  int32_t t = -F::kOffset * group.n;
  for (int k4 = 0; k4 < 8; ++k4)
    for (int k = 0; k < 4; ++k) t += u[4 * k4 + k] * q[k4 * x.quad_stride + k];
  acc = fma1(static_cast<float>(t), F::scale(b) * group.d, acc);
  if constexpr (F::kMinimum) acc = fma1(F::minimum(b), group.s, acc);
  return acc;
}

// The same for a super-block of 256.
template <class F>
ETCH_WORD float reference_block(const typename F::Block& b, const uint8_t* u,
                                const Column<Group256>& x, int64_t at, float acc) {
  const Group256& group = x.groups[at * x.group_stride];
  const int8_t* const q = x.codes + at * 64 * x.quad_stride;
  int32_t sum = 0, minimums = 0;
  for (int g = 0; g < 256 / F::kGroup; ++g) {
    const int32_t n = F::kGroup == 16 ? group.n16[g] : group.n32[g];
    int32_t t = -F::kOffset * n;
    for (int k4 = g * F::kGroup / 4; k4 < (g + 1) * F::kGroup / 4; ++k4)
      for (int k = 0; k < 4; ++k) t += u[4 * k4 + k] * q[k4 * x.quad_stride + k];
    sum += F::sub_scale(b, g) * t;
    if constexpr (F::kMinimum) minimums += F::sub_minimum(b, g) * n;
  }
  acc = fma1(static_cast<float>(sum), F::scale(b) * group.d, acc);
  if constexpr (F::kMinimum)
    acc = fma1(-static_cast<float>(minimums), F::minimum(b) * group.d, acc);
  return acc;
}

// Products of one row with n columns, at most 16; out[c][i] is the one with column c.
template <class F>
static inline void reference_row(const uint8_t* row, int64_t n_in,
                                 const Column<typename F::Group>* x, int n, float (*out)[16],
                                 int i) {
  float acc[16] = {};
  const auto* const b = reinterpret_cast<const typename F::Block*>(row);
  for (int64_t at = 0; at < n_in / F::kElements; ++at) {
    uint8_t u[F::kElements];
    F::codes(b[at], u);
    for (int c = 0; c < n; ++c) acc[c] = reference_block<F>(b[at], u, x[c], at, acc[c]);
  }
  for (int c = 0; c < n; ++c) out[c][i] = acc[c];
}

// One tile of rows with some columns (tiles.h).
template <class F>
struct ReferenceProduct {
  static constexpr int kColumns = 16;
  static constexpr bool kWholeTiles = false;
  ETCH_WORD void product(int n, const uint8_t* rows, int valid, int64_t row_bytes, int64_t n_in,
                         const uint8_t** x, float (*out)[16], Ahead&) {
    Column<typename F::Group> columns[kColumns];
    for (int c = 0; c < n; ++c) columns[c] = row_column<typename F::Group>(x[c], n_in);
    for (int i = 0; i < valid; ++i)
      reference_row<F>(rows + i * row_bytes, n_in, columns, n, out, i);
  }
};

// The same from packed columns, for all of them and tiles of 32 rows.
template <class F>
static void reference_panel(const void* args, const etch_thread* thread, int64_t first,
                            int64_t last) {
  const auto& a = *static_cast<const etch_matmul*>(args);
  const int64_t n = count_rows(a.rows, thread);
  const int64_t end = last * 32 < a.n_out ? last * 32 : a.n_out;
  for (int64_t row = first * 32; row < end; row += 16) {
    const int rows = static_cast<int>(end - row < 16 ? end - row : 16);
    for (int64_t c = 0; c < n; c += 16) {
      const int some = static_cast<int>(n - c < 16 ? n - c : 16);
      Column<typename F::Group> x[16];
      for (int i = 0; i < some; ++i) x[i] = packed_column<typename F::Group>(a.x, a.n_in, c + i);
      float product[16][16] = {}, gate[16][16] = {};
      for (int i = 0; i < rows; ++i) {
        reference_row<F>(a.weight + (row + i) * a.row_bytes, a.n_in, x, some, product, i);
        if (a.gate != nullptr)
          reference_row<F>(a.gate + (row + i) * a.row_bytes, a.n_in, x, some, gate, i);
      }
      for (int i = 0; i < some; ++i)
        store_products(a, c + i, row, rows, product[i], a.gate == nullptr ? nullptr : gate[i]);
    }
  }
}

}  // namespace etch::ETCH_ISA
