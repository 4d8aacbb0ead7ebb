// Rows of float32 to int8 with a scale per 32 or 256 (arithmetic.md section 1), as rows or in
// packed blocks of columns. A row that is not finite marks its sequence and becomes zeros.
#pragma once

#include "kernels/ops/columns.h"

namespace etch::ETCH_ISA {

// The largest magnitude of n elements, as bits: NaN and infinity come out on top.
template <int n>
ETCH_WORD uint32_t largest_magnitude(const float* x) {
#if ETCH_ROWS_ABREAST
  using W = floats;
  auto largest = W::set_int(0);
  for (int k = 0; k < n; k += 16)
    largest = W::max_int(largest, W::and_int(W::as_int(W::load(x + k)), W::set_int(0x7fffffff)));
  return static_cast<uint32_t>(W::reduce_max_int(largest));
#else
  uint32_t largest = 0;
  for (int k = 0; k < n; ++k) {
    const uint32_t magnitude = bits_of_float(x[k]) & 0x7fffffffu;
    largest = largest < magnitude ? magnitude : largest;
  }
  return largest;
#endif
}

// q = nearest(x * inverse), ties to even; |q| <= 127.
template <int n>
ETCH_WORD void round_codes(const float* x, float inverse, int8_t* q) {
#if ETCH_ROWS_ABREAST
  using W = floats;
  for (int k = 0; k < n; k += 16)
    W::store_i8(q + k, W::to_int(W::mul(W::load(x + k), W::set(inverse))));
#else
  for (int k = 0; k < n; ++k)
    q[k] = static_cast<int8_t>(static_cast<int32_t>(nearest1(x[k] * inverse)));
#endif
}

// Sums of four codes each.
template <int n>
ETCH_WORD void sum_quads(const int8_t* q, int32_t* sums) {
#if ETCH_ROWS_ABREAST
  for (int k = 0; k < n; k += 4 * kLanes)
    store(sums + k / 4, pair_sums(pair_products(all(0x01010101), load(q + k)), all(0x00010001)));
#else
  for (int k = 0; k < n; k += 4) sums[k / 4] = q[k] + q[k + 1] + q[k + 2] + q[k + 3];
#endif
}

// One group of n elements: codes into q, the scale returned; false if a value is not finite (all is
// zero then).
template <int n>
ETCH_WORD bool quantize_group(const float* x, int8_t* q, float* scale) {
  const uint32_t largest = largest_magnitude<n>(x);
  const bool finite = largest < 0x7f800000u;
  const float d = finite ? float_of_bits(largest) / 127.0f : 0.0f;
  if (d < 0x1p-126f) {
    __builtin_memset(q, 0, n);
    *scale = 0.0f;
    return finite;
  }
  round_codes<n>(x, 1.0f / d, q);
  *scale = d;
  return true;
}

// q has room for 64 codes.
ETCH_WORD bool quantize_into(const float* x, int8_t* q, Group32* group) {
  const bool finite = quantize_group<32>(x, q, &group->d);
  int32_t quads[16];
  sum_quads<32>(q, quads);
  int32_t n = 0;
  for (int i = 0; i < 8; ++i) n += quads[i];
  group->n = n;
  group->s = group->d * static_cast<float>(n);
  return finite;
}

ETCH_WORD bool quantize_into(const float* x, int8_t* q, Group256* group) {
  const bool finite = quantize_group<256>(x, q, &group->d);
  int32_t quads[64];
  sum_quads<256>(q, quads);
  for (int g = 0; g < 16; ++g)
    group->n16[g] = quads[4 * g] + quads[4 * g + 1] + quads[4 * g + 2] + quads[4 * g + 3];
  for (int g = 0; g < 8; ++g) group->n32[g] = group->n16[2 * g] + group->n16[2 * g + 1];
  // Dword 2i holds sums 4i and 4i + 2, dword 2i + 1 holds 4i + 1 and 4i + 3.
  for (int i = 0; i < 16; ++i)
    group->pairs16[i] = static_cast<int16_t>(group->n16[i / 4 * 4 + i / 2 % 2 + i % 2 * 2]);
  for (int i = 0; i < 8; ++i)
    group->pairs32[i] = static_cast<int16_t>(group->n32[i / 4 * 4 + i / 2 % 2 + i % 2 * 2]);
  return finite;
}

// A row of d elements into a column; false if one of them is not finite. source(k, n) points to
// elements k .. k + n - 1.
template <class Group, class Source>
ETCH_WORD bool quantize_column(Source source, int64_t d, Column<Group> to) {
  constexpr int kGroup = kGroupElements<Group>;
  bool finite = true;
  for (int64_t g = 0; g < d / kGroup; ++g) {
    alignas(64) int8_t q[kGroup < 64 ? 64 : kGroup];
    auto* const group = const_cast<Group*>(to.groups) + g * to.group_stride;
    finite &= quantize_into(source(g * kGroup, kGroup), q, group);
    int8_t* const codes = const_cast<int8_t*>(to.codes) + g * (kGroup / 4) * to.quad_stride;
    if (to.quad_stride == 4) {
      __builtin_memcpy(codes, q, kGroup);
    } else {
      for (int64_t k4 = 0; k4 < kGroup / 4; ++k4)
        __builtin_memcpy(codes + k4 * to.quad_stride, q + 4 * k4, 4);
    }
  }
  return finite;
}

template <class Group>
static inline void zero_column(int64_t d, Column<Group> to) {
  constexpr int64_t kGroup = kGroupElements<Group>;
  for (int64_t k4 = 0; k4 < d / 4; ++k4)
    __builtin_memset(const_cast<int8_t*>(to.codes) + k4 * to.quad_stride, 0, 4);
  for (int64_t g = 0; g < d / kGroup; ++g)
    __builtin_memset(const_cast<Group*>(to.groups) + g * to.group_stride, 0, sizeof(Group));
}

// Item by item: rows, or blocks of columns, of which what is missing is zeros. row(r, to) quantises
// row r.
template <class Group, class Row>
ETCH_WORD void for_rows(uint8_t* packed, int64_t d, int64_t first, int64_t last, Row row) {
  for (int64_t r = first; r < last; ++r)
    row(r, row_column<Group>(packed + r * padded_bytes<Group>(d, 1), d));
}
template <class Group, class Row>
ETCH_WORD void for_packed_rows(uint8_t* packed, int64_t d, int64_t n_rows, int64_t first,
                               int64_t last, Row row) {
  for (int64_t r = first * ETCH_PANEL_COLUMNS; r < last * ETCH_PANEL_COLUMNS; ++r) {
    const Column<Group> to = packed_column<Group>(packed, d, r);
    if (r < n_rows) {
      row(r, to);
    } else {
      zero_column(d, to);
    }
  }
}

template <class Group>
static inline void quantize_row(const etch_quantize& a, const etch_thread* thread, int64_t r,
                                Column<Group> to) {
  const auto* const x = reinterpret_cast<const float*>(row_of(a.x, a.rows, r));
  if (quantize_column<Group>([&](int64_t k, int64_t) { return x + k; }, a.d, to)) return;
  mark_failed(thread, a.rows, r);
  zero_column(a.d, to);
}

template <class Group>
static void quantize_rows(const void* args, const etch_thread* thread, int64_t first,
                          int64_t last) {
  const auto& a = *static_cast<const etch_quantize*>(args);
  for_rows<Group>(a.packed, a.d, first, last,
                  [&](int64_t r, Column<Group> to) { quantize_row<Group>(a, thread, r, to); });
}

template <class Group>
static void quantize_packed(const void* args, const etch_thread* thread, int64_t first,
                            int64_t last) {
  const auto& a = *static_cast<const etch_quantize*>(args);
  for_packed_rows<Group>(
      a.packed, a.d, count_rows(a.rows, thread), first, last,
      [&](int64_t r, Column<Group> to) { quantize_row<Group>(a, thread, r, to); });
}

}  // namespace etch::ETCH_ISA
