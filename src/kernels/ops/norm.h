// Norms, softmax and sum over the last axis: sums in 16 partial sums, then the pairwise tree
// (arithmetic.md section 3). An item is a row. y may be x.
#pragma once

#include "kernels/ops/words.h"

namespace etch::ETCH_ISA {

// Sum of f(x) by addition, sum of f(x)^2 by fma.
template <class F>
ETCH_INLINE float sum_of(const float* x, int64_t d, F f) {
  Word sums = W::set(0.0f);
  for_words(
      d, [&](int64_t k, int64_t n)
             __attribute__((always_inline)) { sums = W::add(sums, f(load_some(x + k, n), n)); });
  return W::reduce_add(sums);
}
template <class F>
ETCH_INLINE float sum_of_squares(const float* x, int64_t d, F f) {
  Word sums = W::set(0.0f);
  for_words(
      d, [&](int64_t k, int64_t n) __attribute__((always_inline)) {
        const Word v = f(load_some(x + k, n), n);
        sums = W::fma(v, v, sums);
      });
  return W::reduce_add(sums);
}
ETCH_INLINE Word as_it_is(Word x, int64_t) { return x; }

// 1 / sqrt(sum x^2 / d + eps): what rmsnorm multiplies a row by.
ETCH_INLINE float rms_factor(const float* x, int64_t d, float eps) {
  return 1.0f / __builtin_sqrtf(sum_of_squares(x, d, as_it_is) / static_cast<float>(d) + eps);
}
// Elements k .. k + n - 1 of the normed row: (x r) w. weight may be null.
ETCH_INLINE Word rms_word(const float* x, const float* weight, Word factor, int64_t k, int64_t n) {
  const Word v = W::mul(load_some(x + k, n), factor);
  return weight == nullptr ? v : W::mul(v, load_some(weight + k, n));
}

ETCH_INLINE const float* norm_weight(const etch_norm& a, const float* weight, int64_t r) {
  if (weight == nullptr) return nullptr;
  return reinterpret_cast<const float*>(reinterpret_cast<const uint8_t*>(weight) +
                                        r % a.rows.per * a.weight_stride);
}

// row(a, x, y, r) for each item.
template <class F>
ETCH_INLINE void for_norm_rows(const void* args, int64_t first, int64_t last, F row) {
  const etch_norm& a = *static_cast<const etch_norm*>(args);
  for (int64_t r = first; r < last; ++r)
    row(a, floats_of(a.x, a.rows, r), floats_of(a.y, a.rows, r), r);
}

static inline void rmsnorm(const void* args, const etch_thread*, int64_t first, int64_t last) {
  for_norm_rows(args, first, last, [](const etch_norm& a, const float* x, float* y, int64_t r) {
    const float* weight = norm_weight(a, a.weight, r);
    const Word factor = W::set(rms_factor(x, a.d, a.eps));
    for_words(
        a.d, [&](int64_t k, int64_t n) __attribute__((always_inline)) {
          store_some(y + k, rms_word(x, weight, factor, k, n), n);
        });
  });
}

static inline void layernorm(const void* args, const etch_thread*, int64_t first, int64_t last) {
  for_norm_rows(args, first, last, [](const etch_norm& a, const float* x, float* y, int64_t r) {
    const float* weight = norm_weight(a, a.weight, r);
    const float* bias = norm_weight(a, a.bias, r);
    const float d = static_cast<float>(a.d);
    const Word mean = W::set(sum_of(x, a.d, as_it_is) / d);
    const auto centred = [&](Word v, int64_t n) __attribute__((always_inline)) {
      const Word c = W::sub(v, mean);
      return n == kFloats ? c : W::select(W::lanes(0, n), c, W::set(0.0f));
    };
    const Word factor = W::set(1.0f / __builtin_sqrtf(sum_of_squares(x, a.d, centred) / d + a.eps));
    for_words(
        a.d, [&](int64_t k, int64_t n) __attribute__((always_inline)) {
          Word v = W::mul(W::sub(load_some(x + k, n), mean), factor);
          if (weight != nullptr) v = W::mul(v, load_some(weight + k, n));
          if (bias != nullptr) v = W::add(v, load_some(bias + k, n));
          store_some(y + k, v, n);
        });
  });
}

static inline void l2norm(const void* args, const etch_thread*, int64_t first, int64_t last) {
  for_norm_rows(args, first, last, [](const etch_norm& a, const float* x, float* y, int64_t) {
    const Word factor = W::set(1.0f / __builtin_sqrtf(sum_of_squares(x, a.d, as_it_is) + a.eps));
    for_words(
        a.d, [&](int64_t k, int64_t n) __attribute__((always_inline)) {
          store_some(y + k, W::mul(load_some(x + k, n), factor), n);
        });
  });
}

// e = exp(x - max), e / sum e.
static inline void softmax(const void* args, const etch_thread*, int64_t first, int64_t last) {
  for_norm_rows(args, first, last, [](const etch_norm& a, const float* x, float* y, int64_t) {
    const Word lowest = W::set(-__builtin_inff());
    Word highest = lowest;
    for_words(
        a.d, [&](int64_t k, int64_t n) __attribute__((always_inline)) {
          const Word v = load_some(x + k, n);
          highest = W::max(highest, n == kFloats ? v : W::select(W::lanes(0, n), v, lowest));
        });
    const Word top = W::set(W::reduce_max(highest));
    Word sums = W::set(0.0f);
    for_words(
        a.d, [&](int64_t k, int64_t n) __attribute__((always_inline)) {
          Word e = exp<W>(W::sub(load_some(x + k, n), top));
          if (n != kFloats) e = W::select(W::lanes(0, n), e, W::set(0.0f));
          sums = W::add(sums, e);
          store_some(y + k, e, n);
        });
    const Word total = W::set(W::reduce_add(sums));
    for_words(
        a.d, [&](int64_t k, int64_t n) __attribute__((always_inline)) {
          store_some(y + k, W::div(load_some(y + k, n), total), n);
        });
  });
}

static inline void sum(const void* args, const etch_thread*, int64_t first, int64_t last) {
  for_norm_rows(args, first, last, [](const etch_norm& a, const float* x, float* y, int64_t) {
    *y = sum_of(x, a.d, as_it_is);
  });
}

}  // namespace etch::ETCH_ISA
