// The float words of AVX-512 (F, BW, DQ, VL): a word is one register. scalar_float.h says what each
// one means.
#pragma once

#include <immintrin.h>

#include <cstdint>

#define ETCH_WORD static inline __attribute__((always_inline))

namespace etch {

struct avx512_float {
  using f = __m512;
  using i = __m512i;
  using m = __mmask16;
  // 32 registers: 12 accumulators, 2 vectors and a broadcast in a tile; 16 accumulators and 4
  // vectors in decode.
  static constexpr bool kWide = true;
  static constexpr int kColumns = 6, kAccumulators = 16;

  ETCH_WORD f load(const float* p) { return _mm512_loadu_ps(p); }
  ETCH_WORD f load_first(const float* p, int64_t n) {
    return _mm512_maskz_loadu_ps(first_lanes(n), p);
  }
  ETCH_WORD void store(float* p, f a) { _mm512_storeu_ps(p, a); }
  ETCH_WORD void store_first(float* p, f a, int64_t n) {
    _mm512_mask_storeu_ps(p, first_lanes(n), a);
  }
  ETCH_WORD f load_f16(const uint16_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  ETCH_WORD float first_f16(const uint16_t* p) { return _cvtsh_ss(*p); }
  ETCH_WORD f load_bf16(const uint16_t* p) {
    const i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    return as_float(_mm512_slli_epi32(wide, 16));
  }
  ETCH_WORD f load_i8(const int8_t* p) {
    return to_float(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }
  ETCH_WORD void store_f16(uint16_t* p, f a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
  }
  ETCH_WORD void store_bf16(uint16_t* p, f a) {
    const i bits = as_int(a);
    const i tie = and_int(_mm512_srli_epi32(bits, 16), set_int(1));
    const i rounded = add_int(bits, add_int(set_int(0x7fff), tie));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16)));
  }
  ETCH_WORD void store_i8(int8_t* p, i a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a));
  }
  ETCH_WORD f set(float x) { return _mm512_set1_ps(x); }
  ETCH_WORD i set_int(int32_t x) { return _mm512_set1_epi32(x); }
  ETCH_WORD i iota() {
    return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  }
  ETCH_WORD float first(f a) { return _mm512_cvtss_f32(a); }

  ETCH_WORD f add(f a, f b) { return _mm512_add_ps(a, b); }
  ETCH_WORD f sub(f a, f b) { return _mm512_sub_ps(a, b); }
  ETCH_WORD f mul(f a, f b) { return _mm512_mul_ps(a, b); }
  ETCH_WORD f div(f a, f b) { return _mm512_div_ps(a, b); }
  ETCH_WORD f sqrt(f a) { return _mm512_sqrt_ps(a); }
  ETCH_WORD f fma(f a, f b, f c) { return _mm512_fmadd_ps(a, b, c); }
  ETCH_WORD f fnma(f a, f b, f c) { return _mm512_fnmadd_ps(a, b, c); }
  ETCH_WORD f min(f a, f b) { return _mm512_min_ps(a, b); }
  ETCH_WORD f max(f a, f b) { return _mm512_max_ps(a, b); }
  ETCH_WORD f floor(f a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  }
  ETCH_WORD f abs(f a) { return as_float(and_int(as_int(a), set_int(0x7fffffff))); }
  ETCH_WORD f neg(f a) { return as_float(xor_int(as_int(a), set_int(INT32_MIN))); }

  ETCH_WORD i as_int(f a) { return _mm512_castps_si512(a); }
  ETCH_WORD f as_float(i a) { return _mm512_castsi512_ps(a); }
  ETCH_WORD f to_float(i a) { return _mm512_cvtepi32_ps(a); }
  ETCH_WORD i to_int(f a) { return _mm512_cvtps_epi32(a); }
  ETCH_WORD i add_int(i a, i b) { return _mm512_add_epi32(a, b); }
  ETCH_WORD i sub_int(i a, i b) { return _mm512_sub_epi32(a, b); }
  ETCH_WORD i and_int(i a, i b) { return _mm512_and_si512(a, b); }
  ETCH_WORD i or_int(i a, i b) { return _mm512_or_si512(a, b); }
  ETCH_WORD i xor_int(i a, i b) { return _mm512_xor_si512(a, b); }
  ETCH_WORD i abs_int(i a) { return _mm512_abs_epi32(a); }
  ETCH_WORD i max_int(i a, i b) { return _mm512_max_epi32(a, b); }
  template <int n>
  ETCH_WORD i shift_left(i a) {
    return _mm512_slli_epi32(a, n);
  }
  template <int n>
  ETCH_WORD i shift_right(i a) {
    return _mm512_srai_epi32(a, n);
  }

  ETCH_WORD m less(f a, f b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
  ETCH_WORD m less_equal(f a, f b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
  ETCH_WORD m equal(f a, f b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
  ETCH_WORD m less_int(i a, i b) { return _mm512_cmplt_epi32_mask(a, b); }
  ETCH_WORD m both(m a, m b) { return static_cast<m>(a & b); }
  ETCH_WORD m lanes(int64_t first, int64_t last) {
    return static_cast<m>(first_lanes(last) & ~first_lanes(first));
  }
  ETCH_WORD m odd(i a) { return _mm512_test_epi32_mask(a, set_int(1)); }
  ETCH_WORD f select(m c, f a, f b) { return _mm512_mask_blend_ps(c, b, a); }
  ETCH_WORD bool all(m c) { return c == 0xffff; }

  ETCH_WORD float reduce_add(f a) {
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two))) + 0.0f;
  }
  ETCH_WORD float reduce_max(f a) {
    const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
  }
  ETCH_WORD int32_t reduce_max_int(i a) { return _mm512_reduce_max_epi32(a); }
  ETCH_WORD void load_pairs(const float* p, f& even, f& odd) {
    const f a = load(p), b = load(p + 16);
    const i index = add_int(iota(), iota());
    even = _mm512_permutex2var_ps(a, index, b);
    odd = _mm512_permutex2var_ps(a, add_int(index, set_int(1)), b);
  }
  ETCH_WORD void store_pairs(float* p, f even, f odd) {
    const i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    store(p, _mm512_permutex2var_ps(even, low, odd));
    store(p + 16, _mm512_permutex2var_ps(even, add_int(low, set_int(8)), odd));
  }
  ETCH_WORD void pin(f& a) { asm("" : "+v"(a)); }

 private:
  ETCH_WORD m first_lanes(int64_t n) {  // any n: below 0 none, above 16 all
    return n <= 0 ? m{0} : n >= 16 ? m{0xffff} : static_cast<m>((1u << n) - 1);
  }
};

}  // namespace etch

// What kernels of this instruction set call their float words.
namespace etch::avx512 {
using floats = avx512_float;
}
