// rmsnorm and quantise in one pass over a row: the roundings are those of the two kernels, one
// after the other.
#pragma once

#include "kernels/ops/norm.h"
#include "kernels/ops/quantize_input.h"

namespace etch::ETCH_ISA {

template <class Group>
static inline void norm_quantize_row(const etch_norm& a, const etch_thread* thread, int64_t r,
                                     Column<Group> to) {
  const float* const x = floats_of(a.x, a.rows, r);
  const float* const weight = norm_weight(a, a.weight, r);
  const Word factor = W::set(rms_factor(x, a.d, a.eps));
  alignas(64) float normed[kGroupElements<Group>];
  const auto source = [&](int64_t k, int64_t n) {
    for (int64_t i = 0; i < n; i += kFloats)
      W::store(normed + i, rms_word(x, weight, factor, k + i, kFloats));
    return normed;
  };
  if (quantize_column<Group>(source, a.d, to)) return;
  mark_failed(thread, a.rows, r);
  zero_column(a.d, to);
}

template <class Group>
static void norm_quantize_rows(const void* args, const etch_thread* thread, int64_t first,
                               int64_t last) {
  const auto& a = *static_cast<const etch_norm*>(args);
  for_rows<Group>(a.packed, a.d, first, last,
                  [&](int64_t r, Column<Group> to) { norm_quantize_row<Group>(a, thread, r, to); });
}

template <class Group>
static void norm_quantize_packed(const void* args, const etch_thread* thread, int64_t first,
                                 int64_t last) {
  const auto& a = *static_cast<const etch_norm*>(args);
  for_packed_rows<Group>(
      a.packed, a.d, count_rows(a.rows, thread), first, last,
      [&](int64_t r, Column<Group> to) { norm_quantize_row<Group>(a, thread, r, to); });
}

}  // namespace etch::ETCH_ISA
