// Rows of float32 to int8 with a scale per 32 or 256 (arithmetic.md section 1), as rows or in
// packed blocks of columns. A row that is not finite marks its sequence and becomes zeros.
#pragma once

#include "kernels/ops/columns.h"

namespace etch::ETCH_ISA {

// One group of n elements: codes into q, the scale returned; false if a value is not finite (q is
// zeros then).
ETCH_WORD bool quantize_group(const float* x, int n, int8_t* q, float* scale) {
  uint32_t largest = 0;
  for (int k = 0; k < n; ++k) {
    const uint32_t magnitude = bits_of_float(x[k]) & 0x7fffffffu;
    largest = largest < magnitude ? magnitude : largest;
  }
  const bool finite = largest < 0x7f800000u;
  const float d = finite ? float_of_bits(largest) / 127.0f : 0.0f;
  if (d < 0x1p-126f) {
    for (int k = 0; k < n; ++k) q[k] = 0;
    *scale = 0.0f;
    return finite;
  }
  const float inverse = 1.0f / d;
  for (int k = 0; k < n; ++k)
    q[k] = static_cast<int8_t>(static_cast<int32_t>(nearest1(x[k] * inverse)));
  *scale = d;
  return true;
}

ETCH_WORD bool quantize_into(const float* x, int8_t* q, Group32* group) {
  const bool finite = quantize_group(x, 32, q, &group->d);
  int32_t n = 0;
  for (int k = 0; k < 32; ++k) n += q[k];
  group->n = n;
  group->s = group->d * static_cast<float>(n);
  return finite;
}

ETCH_WORD bool quantize_into(const float* x, int8_t* q, Group256* group) {
  const bool finite = quantize_group(x, 256, q, &group->d);
  for (int g = 0; g < 16; ++g) {
    int32_t n = 0;
    for (int k = 0; k < 16; ++k) n += q[16 * g + k];
    group->n16[g] = n;
  }
  for (int g = 0; g < 8; ++g) group->n32[g] = group->n16[2 * g] + group->n16[2 * g + 1];
  // Dword 2i holds sums 4i and 4i + 2, dword 2i + 1 holds 4i + 1 and 4i + 3.
  for (int i = 0; i < 16; ++i)
    group->pairs16[i] = static_cast<int16_t>(group->n16[i / 4 * 4 + i / 2 % 2 + i % 2 * 2]);
  for (int i = 0; i < 8; ++i)
    group->pairs32[i] = static_cast<int16_t>(group->n32[i / 4 * 4 + i / 2 % 2 + i % 2 * 2]);
  return finite;
}

// A row of d elements into a column; zeros if one of them is not finite.
template <class Group>
static inline bool quantize_column(const float* x, int64_t d, Column<Group> to) {
  constexpr int64_t kGroup = kGroupElements<Group>;
  bool finite = true;
  for (int64_t g = 0; g < d / kGroup; ++g) {
    alignas(64) int8_t q[kGroup];
    auto* const group = const_cast<Group*>(to.groups) + g * to.group_stride;
    finite &= quantize_into(x + g * kGroup, q, group);
    int8_t* const codes = const_cast<int8_t*>(to.codes) + g * kGroup / 4 * to.quad_stride;
    for (int64_t k4 = 0; k4 < kGroup / 4; ++k4)
      __builtin_memcpy(codes + k4 * to.quad_stride, q + 4 * k4, 4);
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

template <class Group>
static inline void quantize_row(const etch_quantize& a, const etch_thread* thread, int64_t r,
                                Column<Group> to) {
  const auto* const x = reinterpret_cast<const float*>(row_of(a.x, a.rows, r));
  if (quantize_column(x, a.d, to)) return;
  mark_failed(thread, a.rows, r);
  zero_column(a.d, to);
}

template <class Group>
static void quantize_rows(const void* args, const etch_thread* thread, int64_t first,
                          int64_t last) {
  const auto& a = *static_cast<const etch_quantize*>(args);
  for (int64_t r = first; r < last; ++r)
    quantize_row(a, thread, r, row_column<Group>(a.packed + r * padded_bytes<Group>(a.d, 1), a.d));
}

// An item is a block of columns; what is missing of the last one is zeros.
template <class Group>
static void quantize_packed(const void* args, const etch_thread* thread, int64_t first,
                            int64_t last) {
  const auto& a = *static_cast<const etch_quantize*>(args);
  const int64_t n = count_rows(a.rows, thread);
  for (int64_t r = first * ETCH_PANEL_COLUMNS; r < last * ETCH_PANEL_COLUMNS; ++r) {
    const Column<Group> to = packed_column<Group>(a.packed, a.d, r);
    if (r < n) {
      quantize_row(a, thread, r, to);
    } else {
      zero_column(a.d, to);
    }
  }
}

static inline void quantize_rows_q8_32(const void* args, const etch_thread* thread, int64_t first,
                                       int64_t last) {
  quantize_rows<Group32>(args, thread, first, last);
}
static inline void quantize_rows_q8_256(const void* args, const etch_thread* thread, int64_t first,
                                        int64_t last) {
  quantize_rows<Group256>(args, thread, first, last);
}
static inline void quantize_packed_q8_32(const void* args, const etch_thread* thread, int64_t first,
                                         int64_t last) {
  quantize_packed<Group32>(args, thread, first, last);
}
static inline void quantize_packed_q8_256(const void* args, const etch_thread* thread,
                                          int64_t first, int64_t last) {
  quantize_packed<Group256>(args, thread, first, last);
}

}  // namespace etch::ETCH_ISA
