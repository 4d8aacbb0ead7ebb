// Rows of K and V into a cache (kv_page.h), K turned first. An item is one head of one row of the
// step. A row with a number the cache cannot hold (not finite, beyond f16) is marked, and zeros are
// kept in its place, so that whatever else is in the page stays well-defined.
#pragma once

#include "kernels/limits.h"
#include "kernels/ops/kv_number.h"
#include "kernels/ops/rope.h"

namespace etch::ETCH_ISA {

ETCH_INLINE int32_t largest_bits(const float* x, int64_t d) {
  auto most = W::set_int(0);
  for_words(d, [&](int64_t k, int64_t n) {
    most = W::max_int(most, W::as_int(W::abs(load_some(x + k, n))));
  });
  return W::reduce_max_int(most);
}

// Writes x, d entries, as entries `step` numbers apart.
template <class Kv>
static inline void write_entries(const float* x, int64_t d, typename Kv::Number* y, int64_t step) {
  for_words(d, [&](int64_t k, int64_t n) {
    typename Kv::Number numbers[kFloats];
    Kv::store(numbers, load_some(x + k, n));
    for (int64_t i = 0; i < n; ++i) y[(k + i) * step] = numbers[i];
  });
}

// The same for q8_0: codes `step` apart, and a scale per 32 of them, `step` apart too.
static inline void write_codes(const float* x, int64_t d, int8_t* codes, uint16_t* scales,
                               int64_t step) {
  for (int64_t g = 0; g < kv::groups_of(d); ++g) {
    const int64_t start = g * kv::kGroup;
    const int64_t count = d - start < kv::kGroup ? d - start : kv::kGroup;
    float amax;
    const int32_t bits = largest_bits(x + start, count);
    __builtin_memcpy(&amax, &bits, 4);
    uint16_t half[kFloats];
    W::store_f16(half, W::set(amax / 127.0f));
    const Word scale = W::load_f16(half);
    scales[g * step] = half[0];
    const bool zero = W::first(scale) == 0.0f;
    const Word inverse = zero ? W::set(0.0f) : W::div(W::set(1.0f), scale);
    for_words(count, [&](int64_t k, int64_t n) {
      const Word v = W::mul(load_some(x + start + k, n), inverse);
      int8_t some[kFloats];
      W::store_i8(some, W::to_int(W::max(W::set(-127.0f), W::min(W::set(127.0f), v))));
      for (int64_t i = 0; i < n; ++i) codes[(start + k + i) * step] = some[i];
    });
  }
}

template <class Kv>
static inline void append(const void* args, const etch_thread* thread, int64_t first,
                          int64_t last) {
  using Number = typename Kv::Number;
  const etch_append& a = *static_cast<const etch_append*>(args);
  const etch_step& step = *thread->step;
  const etch_rows tokens = {ETCH_TOKENS, 1};
  for (int64_t item = first; item < last; ++item) {
    const int64_t head = item / step.n_rows, row = item % step.n_rows;
    if (a.d_k > kMaxHead || a.d_v > kMaxHead) {  // the planner refuses it
      mark_failed(thread, tokens, row);
      continue;
    }
    const auto row_floats = [&](const etch_view& v) {
      return reinterpret_cast<const float*>(v.at + row * v.row_stride + head * v.inner_stride);
    };
    float turned[kMaxHead], zeros[kMaxHead];
    const float* k = row_floats(a.k);
    const float* v = row_floats(a.v);
    if (a.table != nullptr) {
      turn(k, turned, a.table + row * 2 * a.pairs, a.d_k, a.pairs, a.layout, false);
      k = turned;
    }
    const auto kept = [&](const float* x, int64_t d) -> const float* {
      if (largest_bits(x, d) <= Kv::kLargest) return x;
      mark_failed(thread, tokens, row);
      __builtin_memset(zeros, 0, static_cast<size_t>(d) * 4);
      return zeros;
    };
    k = kept(k, a.d_k);
    v = kept(v, a.d_v);
    const int64_t position = step.positions[row];
    uint8_t* const page = step.states[int64_t{a.state} * step.n_runs + step.run_of_row[row]]
                                     [position / kv::kPositions];
    uint8_t* const k_at = head_of_page<Kv>(page, head, a.d_k, a.d_v);
    uint8_t* const v_at = values_of_head<Kv>(k_at, a.d_k);
    const int64_t in_page = position % kv::kPositions;
    const int64_t panel = in_page / kv::kPanel, lane = in_page % kv::kPanel;
    auto* const k_numbers = reinterpret_cast<Number*>(k_at) + panel * a.d_k * kv::kPanel + lane;
    auto* const v_numbers = reinterpret_cast<Number*>(v_at) + in_page * a.d_v;
    if constexpr (sizeof(Number) == 1) {
      auto* const k_scales = reinterpret_cast<uint16_t*>(k_at + kv::kPositions * a.d_k);
      auto* const v_scales = reinterpret_cast<uint16_t*>(v_at + kv::kPositions * a.d_v);
      write_codes(k, a.d_k, k_numbers, k_scales + panel * kv::groups_of(a.d_k) * kv::kPanel + lane,
                  kv::kPanel);
      write_codes(v, a.d_v, v_numbers, v_scales + in_page * kv::groups_of(a.d_v), 1);
    } else {
      write_entries<Kv>(k, a.d_k, k_numbers, kv::kPanel);
      write_entries<Kv>(v, a.d_v, v_numbers, 1);
    }
  }
}

}  // namespace etch::ETCH_ISA
