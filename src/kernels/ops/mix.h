// y = sum over slots in order of weights[slot] * x[slot], by fma; without weights a plain sum.
// An item is up to kMixChunk elements of a row.
#pragma once

#include "kernels/chunks.h"
#include "kernels/ops/words.h"

namespace etch::ETCH_ISA {

static inline void mix(const void* args, const etch_thread*, int64_t first, int64_t last) {
  const etch_mix& a = *static_cast<const etch_mix*>(args);
  const int64_t chunks = chunks_of(a.d, kMixChunk);
  for (int64_t item = first; item < last; ++item) {
    const int64_t r = item / chunks, start = item % chunks * kMixChunk;
    const uint8_t* const x = row_of(a.x, {a.rows.of, 1}, r);
    float* const y = floats_of(a.y, a.rows, r) + start;
    const int64_t left = a.d - start;
    for_words(
        left < kMixChunk ? left : kMixChunk, [&](int64_t k,
                                                 int64_t n) __attribute__((always_inline)) {
          Word sum = W::set(0.0f);
          for (int32_t s = 0; s < a.n_used; ++s) {
            const Word v =
                load_some(reinterpret_cast<const float*>(x + s * a.x.inner_stride) + start + k, n);
            sum = a.weights == nullptr ? W::add(sum, v)
                                       : W::fma(W::set(a.weights[r * a.n_used + s]), v, sum);
          }
          store_some(y + k, sum, n);
        });
  }
}

}  // namespace etch::ETCH_ISA
