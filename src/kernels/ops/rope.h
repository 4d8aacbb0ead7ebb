// Rotary encoding (arithmetic.md section 4): the table of a step, and the turning of rows by it.
//
//   table    [row of the step][cos | sin][pairs], both times the magnitude
//   pairs    (2i, 2i + 1) turn together        halves    (i, i + pairs) turn together
#pragma once

#include "kernels/ops/words.h"

namespace etch::ETCH_ISA {

// An item is a row of the step.
static inline void rotary(const void* args, const etch_thread* thread, int64_t first,
                          int64_t last) {
  const etch_rotary& a = *static_cast<const etch_rotary*>(args);
  const Word magnitude = W::set(a.magnitude);
  for (int64_t r = first; r < last; ++r) {
    const int64_t token = token_of(a.rows, *thread->step, r);
    const Word position = W::set(static_cast<float>(thread->step->positions[token]));
    float* const y = a.y + r * 2 * a.pairs;
    for_words(a.pairs, [&](int64_t k, int64_t n) {
      Word sine, cosine;
      sin_cos<W>(W::mul(position, load_some(a.frequencies + k, n)), sine, cosine);
      store_some(y + k, W::mul(cosine, magnitude), n);
      store_some(y + a.pairs + k, W::mul(sine, magnitude), n);
    });
  }
}

// (a, b) -> (fma(a, c, -(b s)), fma(a, s, b c)).
ETCH_INLINE void turn_word(Word& a, Word& b, Word c, Word s) {
  const Word turned = W::fma(a, c, W::neg(W::mul(b, s)));
  b = W::fma(a, s, W::mul(b, c));
  a = turned;
}

// The first 2 * pairs entries of x turn by the row `table`, the other ones are copied. y may be x.
static inline void turn(const float* x, float* y, const float* table, int64_t d, int64_t pairs,
                        int32_t layout, bool inverse) {
  const Word sign = W::set(inverse ? -0.0f : 0.0f);
  for_words(pairs, [&](int64_t k, int64_t n) {
    const Word c = load_some(table + k, n);
    const Word s =
        W::as_float(W::xor_int(W::as_int(load_some(table + pairs + k, n)), W::as_int(sign)));
    Word a, b;
    if (layout == ETCH_ROPE_HALVES) {
      a = load_some(x + k, n);
      b = load_some(x + pairs + k, n);
      turn_word(a, b, c, s);
      store_some(y + k, a, n);
      store_some(y + pairs + k, b, n);
    } else if (n == kFloats) {
      W::load_pairs(x + 2 * k, a, b);
      turn_word(a, b, c, s);
      W::store_pairs(y + 2 * k, a, b);
    } else {
      float some[2 * kFloats] = {};
      __builtin_memcpy(some, x + 2 * k, static_cast<size_t>(n) * 8);
      W::load_pairs(some, a, b);
      turn_word(a, b, c, s);
      W::store_pairs(some, a, b);
      __builtin_memcpy(y + 2 * k, some, static_cast<size_t>(n) * 8);
    }
  });
  if (x != y)
    __builtin_memcpy(y + 2 * pairs, x + 2 * pairs, static_cast<size_t>(d - 2 * pairs) * 4);
}

// An item is a row of a token's heads.
static inline void rope(const void* args, const etch_thread* thread, int64_t first, int64_t last) {
  const etch_rope& a = *static_cast<const etch_rope*>(args);
  for (int64_t r = first; r < last; ++r) {
    const float* const table = a.table + token_of(a.rows, *thread->step, r) * 2 * a.pairs;
    turn(floats_of(a.x, a.rows, r), floats_of(a.y, a.rows, r), table, a.d, a.pairs, a.layout,
         a.inverse != 0);
  }
}

}  // namespace etch::ETCH_ISA
