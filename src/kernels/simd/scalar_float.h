// Float words: what a kernel may do with 16 floats at once. This file says what each word means;
// avx2_float.h and avx512_float.h have the same names and give the same bits (NaN payloads aside).
//
//   f  16 floats     i  16 int32     m  16 truths         lane k holds element k mod 16
//
// A word of 16 lanes is the 16 partial sums of arithmetic.md section 3, and one panel of positions
// of section 5. Everything is inlined without exception, so that no function of one instruction set
// is ever shared with another. Included by code for the baseline machine alone.
#pragma once

#include <cstdint>

#include "dtypes/float16.h"

#define ETCH_WORD static inline __attribute__((always_inline))

namespace etch {

struct scalar_float {
  struct f {
    float at[16];
  };
  struct i {
    int32_t at[16];
  };
  struct m {
    bool at[16];
  };
  // Accumulators a kernel may keep: vectors x columns of the attention tile, and words in flight of
  // a reduction.
  static constexpr bool kWide = false;  // a word is one or two registers
  static constexpr int kColumns = 2, kAccumulators = 2;

#define ETCH_LANES(type, expression)                 \
  type r;                                            \
  for (int k = 0; k < 16; ++k) r.at[k] = expression; \
  return r

  // Memory. load_first reads n lanes, 0 <= n <= 16, and nothing behind them; the others are +0.
  ETCH_WORD f load(const float* p) { ETCH_LANES(f, p[k]); }
  ETCH_WORD f load_first(const float* p, int64_t n) { ETCH_LANES(f, k < n ? p[k] : 0.0f); }
  ETCH_WORD void store(float* p, f a) {
    for (int k = 0; k < 16; ++k) p[k] = a.at[k];
  }
  ETCH_WORD void store_first(float* p, f a, int64_t n) {
    for (int k = 0; k < 16 && k < n; ++k) p[k] = a.at[k];
  }
  ETCH_WORD f load_f16(const uint16_t* p) { ETCH_LANES(f, f16_to_f32(p[k])); }
  ETCH_WORD float first_f16(const uint16_t* p) { return f16_to_f32(*p); }  // one number
  ETCH_WORD f load_bf16(const uint16_t* p) { ETCH_LANES(f, bf16_to_f32(p[k])); }
  ETCH_WORD f load_i8(const int8_t* p) { ETCH_LANES(f, static_cast<float>(p[k])); }
  // Rounded to nearest even. Of finite values: what a NaN becomes is not said.
  ETCH_WORD void store_f16(uint16_t* p, f a) {
    for (int k = 0; k < 16; ++k) p[k] = f32_to_f16(a.at[k]);
  }
  ETCH_WORD void store_bf16(uint16_t* p, f a) {
    for (int k = 0; k < 16; ++k) p[k] = f32_to_bf16(a.at[k]);
  }
  // Of whole numbers -128 .. 127.
  ETCH_WORD void store_i8(int8_t* p, i a) {
    for (int k = 0; k < 16; ++k) p[k] = static_cast<int8_t>(a.at[k]);
  }
  ETCH_WORD f set(float x) { ETCH_LANES(f, x); }
  ETCH_WORD i set_int(int32_t x) { ETCH_LANES(i, x); }
  ETCH_WORD i iota() { ETCH_LANES(i, k); }
  ETCH_WORD float first(f a) { return a.at[0]; }

  // Arithmetic: one rounding each, to nearest even.
  ETCH_WORD f add(f a, f b) { ETCH_LANES(f, a.at[k] + b.at[k]); }
  ETCH_WORD f sub(f a, f b) { ETCH_LANES(f, a.at[k] - b.at[k]); }
  ETCH_WORD f mul(f a, f b) { ETCH_LANES(f, a.at[k] * b.at[k]); }
  ETCH_WORD f div(f a, f b) { ETCH_LANES(f, a.at[k] / b.at[k]); }
  ETCH_WORD f sqrt(f a) { ETCH_LANES(f, __builtin_sqrtf(a.at[k])); }
  ETCH_WORD f fma(f a, f b, f c) {
    ETCH_LANES(f, __builtin_fmaf(a.at[k], b.at[k], c.at[k]));
  }  // a b + c
  ETCH_WORD f fnma(f a, f b, f c) {
    ETCH_LANES(f, __builtin_fmaf(-a.at[k], b.at[k], c.at[k]));
  }  // c - a b
  // b where the comparison fails: a NaN in b passes through, one in a does not.
  ETCH_WORD f min(f a, f b) { ETCH_LANES(f, a.at[k] < b.at[k] ? a.at[k] : b.at[k]); }
  ETCH_WORD f max(f a, f b) { ETCH_LANES(f, a.at[k] > b.at[k] ? a.at[k] : b.at[k]); }
  ETCH_WORD f floor(f a) { ETCH_LANES(f, __builtin_floorf(a.at[k])); }
  ETCH_WORD f abs(f a) { return as_float(and_int(as_int(a), set_int(0x7fffffff))); }
  ETCH_WORD f neg(f a) { return as_float(xor_int(as_int(a), set_int(INT32_MIN))); }

  // Integers and bits.
  ETCH_WORD i as_int(f a) { return __builtin_bit_cast(i, a); }
  ETCH_WORD f as_float(i a) { return __builtin_bit_cast(f, a); }
  ETCH_WORD f to_float(i a) { ETCH_LANES(f, static_cast<float>(a.at[k])); }
  // To nearest even; INT32_MIN for what does not fit.
  ETCH_WORD i to_int(f a) { ETCH_LANES(i, rounded(a.at[k])); }
  ETCH_WORD i add_int(i a, i b) { ETCH_LANES(i, wrap(uint32_t(a.at[k]) + uint32_t(b.at[k]))); }
  ETCH_WORD i sub_int(i a, i b) { ETCH_LANES(i, wrap(uint32_t(a.at[k]) - uint32_t(b.at[k]))); }
  ETCH_WORD i and_int(i a, i b) { ETCH_LANES(i, a.at[k] & b.at[k]); }
  ETCH_WORD i or_int(i a, i b) { ETCH_LANES(i, a.at[k] | b.at[k]); }
  ETCH_WORD i xor_int(i a, i b) { ETCH_LANES(i, a.at[k] ^ b.at[k]); }
  ETCH_WORD i abs_int(i a) { ETCH_LANES(i, a.at[k] < 0 ? wrap(0u - uint32_t(a.at[k])) : a.at[k]); }
  ETCH_WORD i max_int(i a, i b) { ETCH_LANES(i, a.at[k] > b.at[k] ? a.at[k] : b.at[k]); }
  template <int n>
  ETCH_WORD i shift_left(i a) {
    ETCH_LANES(i, wrap(uint32_t(a.at[k]) << n));
  }
  template <int n>
  ETCH_WORD i shift_right(i a) {
    ETCH_LANES(i, a.at[k] >> n);
  }  // keeps the sign

  // Truths. Comparisons with a NaN are false.
  ETCH_WORD m less(f a, f b) { ETCH_LANES(m, a.at[k] < b.at[k]); }
  ETCH_WORD m less_equal(f a, f b) { ETCH_LANES(m, a.at[k] <= b.at[k]); }
  ETCH_WORD m equal(f a, f b) { ETCH_LANES(m, a.at[k] == b.at[k]); }
  ETCH_WORD m less_int(i a, i b) { ETCH_LANES(m, a.at[k] < b.at[k]); }
  ETCH_WORD m both(m a, m b) { ETCH_LANES(m, a.at[k] && b.at[k]); }
  // Lanes first <= k < last.
  ETCH_WORD m lanes(int64_t first, int64_t last) { ETCH_LANES(m, k >= first && k < last); }
  ETCH_WORD m odd(i a) { ETCH_LANES(m, (a.at[k] & 1) != 0); }
  ETCH_WORD f select(m c, f a, f b) { ETCH_LANES(f, c.at[k] ? a.at[k] : b.at[k]); }
  ETCH_WORD bool all(m c) {
    bool r = true;
    for (int k = 0; k < 16; ++k) r = r && c.at[k];
    return r;
  }

  // The pairwise tree of arithmetic.md section 3, the +0 at its end included.
  ETCH_WORD float reduce_add(f a) {
    for (int half = 8; half > 0; half /= 2)
      for (int k = 0; k < half; ++k) a.at[k] = a.at[k] + a.at[k + half];
    return a.at[0] + 0.0f;
  }
  ETCH_WORD float reduce_max(f a) {  // of numbers; which zero is not said
    float r = a.at[0];
    for (int k = 1; k < 16; ++k) r = r > a.at[k] ? r : a.at[k];
    return r;
  }
  ETCH_WORD int32_t reduce_max_int(i a) {
    int32_t r = a.at[0];
    for (int k = 1; k < 16; ++k) r = r > a.at[k] ? r : a.at[k];
    return r;
  }
  // Even and odd elements of 32 floats, and back.
  ETCH_WORD void load_pairs(const float* p, f& even, f& odd) {
    for (int k = 0; k < 16; ++k) even.at[k] = p[2 * k], odd.at[k] = p[2 * k + 1];
  }
  ETCH_WORD void store_pairs(float* p, f even, f odd) {
    for (int k = 0; k < 16; ++k) p[2 * k] = even.at[k], p[2 * k + 1] = odd.at[k];
  }
  // Keeps a word where it is: the compiler may not fold its load into every use.
  ETCH_WORD void pin(f&) {}

#undef ETCH_LANES

 private:
  ETCH_WORD int32_t wrap(uint32_t x) { return static_cast<int32_t>(x); }
  ETCH_WORD int32_t rounded(float x) {
    if (!(x >= -0x1p31f && x < 0x1p31f)) return INT32_MIN;
    const float magnitude = x < 0 ? -x : x;
    if (magnitude >= 0x1p23f) return static_cast<int32_t>(x);
    const float whole = (magnitude + 0x1p23f) - 0x1p23f;
    return static_cast<int32_t>(x < 0 ? -whole : whole);
  }
};

}  // namespace etch

// What kernels of this instruction set call their float words.
namespace etch::scalar {
using floats = scalar_float;
}
