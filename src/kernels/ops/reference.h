// Products with quantised weights, as arithmetic.md section 2 says them. What every other
// implementation must equal.
#pragma once

#include "kernels/ops/columns.h"
#include "kernels/ops/epilogue.h"

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

// Rows first .. end - 1 of the weight, all columns; find(c) gives one.
template <class F, class FindColumn>
static inline void reference_matmul(const etch_matmul& a, const etch_thread* thread, int64_t first,
                                    int64_t end, FindColumn find) {
  const int64_t n = count_rows(a.rows, thread);
  for (int64_t row = first; row < end; row += 16) {
    const int rows = static_cast<int>(end - row < 16 ? end - row : 16);
    for (int64_t c = 0; c < n; c += 16) {
      const int columns = static_cast<int>(n - c < 16 ? n - c : 16);
      Column<typename F::Group> x[16];
      for (int i = 0; i < columns; ++i) x[i] = find(c + i);
      float product[16][16] = {}, gate[16][16] = {};
      for (int i = 0; i < rows; ++i) {
        reference_row<F>(a.weight + (row + i) * a.row_bytes, a.n_in, x, columns, product, i);
        if (a.gate != nullptr)
          reference_row<F>(a.gate + (row + i) * a.row_bytes, a.n_in, x, columns, gate, i);
      }
      for (int i = 0; i < columns; ++i)
        store_products(a, c + i, row, rows, product[i], a.gate == nullptr ? nullptr : gate[i]);
    }
  }
}

// Items are tiles of `rows` rows.
ETCH_WORD int64_t last_row(const etch_matmul& a, int64_t last, int64_t rows) {
  return last * rows < a.n_out ? last * rows : a.n_out;
}

template <class F>
static void reference_registers(const void* args, const etch_thread* thread, int64_t first,
                                int64_t last) {
  const auto& a = *static_cast<const etch_matmul*>(args);
  reference_matmul<F>(a, thread, first * 16, last_row(a, last, 16), [&](int64_t c) {
    return row_column<typename F::Group>(a.x + c * a.x_stride, a.n_in);
  });
}

template <class F>
static void reference_panel(const void* args, const etch_thread* thread, int64_t first,
                            int64_t last) {
  const auto& a = *static_cast<const etch_matmul*>(args);
  reference_matmul<F>(a, thread, first * 32, last_row(a, last, 32),
                      [&](int64_t c) { return packed_column<typename F::Group>(a.x, a.n_in, c); });
}

}  // namespace etch::ETCH_ISA
