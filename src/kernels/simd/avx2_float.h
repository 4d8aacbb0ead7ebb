// The float words of AVX2 with FMA and F16C: a word is two registers. scalar_float.h says what each
// one means.
#pragma once

#include <immintrin.h>

#include <cstdint>

#define ETCH_WORD static inline __attribute__((always_inline))

namespace etch {

struct avx2_float {
  struct f {
    __m256 lo, hi;
  };
  struct i {
    __m256i lo, hi;
  };
  struct m {
    __m256 lo, hi;  // all bits of a lane, or none
  };
  // 16 registers: 6 words of accumulators (12), one vector (2) and a broadcast.
  static constexpr bool kWide = true;
  static constexpr int kColumns = 6, kAccumulators = 6;

#define ETCH_F(intrinsic) \
  { intrinsic(a.lo, b.lo), intrinsic(a.hi, b.hi) }

  ETCH_WORD f load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  ETCH_WORD f load_first(const float* p, int64_t n) {
    const i c = first_lanes(n);
    return {_mm256_maskload_ps(p, c.lo), _mm256_maskload_ps(p + 8, c.hi)};
  }
  ETCH_WORD void store(float* p, f a) {
    _mm256_storeu_ps(p, a.lo);
    _mm256_storeu_ps(p + 8, a.hi);
  }
  ETCH_WORD void store_first(float* p, f a, int64_t n) {
    const i c = first_lanes(n);
    _mm256_maskstore_ps(p, c.lo, a.lo);
    _mm256_maskstore_ps(p + 8, c.hi, a.hi);
  }
  ETCH_WORD f load_f16(const uint16_t* p) {
    return {_mm256_cvtph_ps(load_128(p)), _mm256_cvtph_ps(load_128(p + 8))};
  }
  ETCH_WORD float first_f16(const uint16_t* p) { return _cvtsh_ss(*p); }
  ETCH_WORD f load_bf16(const uint16_t* p) {
    return as_float(shift_left<16>(
        {_mm256_cvtepu16_epi32(load_128(p)), _mm256_cvtepu16_epi32(load_128(p + 8))}));
  }
  ETCH_WORD f load_i8(const int8_t* p) {
    const __m128i codes = load_128(p);
    return to_float({_mm256_cvtepi8_epi32(codes), _mm256_cvtepi8_epi32(_mm_srli_si128(codes, 8))});
  }
  ETCH_WORD void store_f16(uint16_t* p, f a) {
    store_128(p, _mm256_cvtps_ph(a.lo, _MM_FROUND_TO_NEAREST_INT));
    store_128(p + 8, _mm256_cvtps_ph(a.hi, _MM_FROUND_TO_NEAREST_INT));
  }
  ETCH_WORD void store_bf16(uint16_t* p, f a) {
    const i bits = as_int(a);
    const i tie = and_int(shift_right<16>(bits), set_int(1));
    const i rounded = add_int(bits, add_int(set_int(0x7fff), tie));
    const __m256i lo = _mm256_srli_epi32(rounded.lo, 16), hi = _mm256_srli_epi32(rounded.hi, 16);
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(lo, hi), 0xd8);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), packed);
  }
  ETCH_WORD void store_i8(int8_t* p, i a) {
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(a.lo, a.hi), 0xd8);
    store_128(p,
              _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
  }
  ETCH_WORD f set(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  ETCH_WORD i set_int(int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
  ETCH_WORD i iota() {
    return {_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
            _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15)};
  }
  ETCH_WORD float first(f a) { return _mm256_cvtss_f32(a.lo); }

  ETCH_WORD f add(f a, f b) { return ETCH_F(_mm256_add_ps); }
  ETCH_WORD f sub(f a, f b) { return ETCH_F(_mm256_sub_ps); }
  ETCH_WORD f mul(f a, f b) { return ETCH_F(_mm256_mul_ps); }
  ETCH_WORD f div(f a, f b) { return ETCH_F(_mm256_div_ps); }
  ETCH_WORD f sqrt(f a) { return {_mm256_sqrt_ps(a.lo), _mm256_sqrt_ps(a.hi)}; }
  ETCH_WORD f fma(f a, f b, f c) {
    return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
  }
  ETCH_WORD f fnma(f a, f b, f c) {
    return {_mm256_fnmadd_ps(a.lo, b.lo, c.lo), _mm256_fnmadd_ps(a.hi, b.hi, c.hi)};
  }
  ETCH_WORD f min(f a, f b) { return ETCH_F(_mm256_min_ps); }
  ETCH_WORD f max(f a, f b) { return ETCH_F(_mm256_max_ps); }
  ETCH_WORD f floor(f a) { return {_mm256_floor_ps(a.lo), _mm256_floor_ps(a.hi)}; }
  ETCH_WORD f abs(f a) { return as_float(and_int(as_int(a), set_int(0x7fffffff))); }
  ETCH_WORD f neg(f a) { return as_float(xor_int(as_int(a), set_int(INT32_MIN))); }

  ETCH_WORD i as_int(f a) { return {_mm256_castps_si256(a.lo), _mm256_castps_si256(a.hi)}; }
  ETCH_WORD f as_float(i a) { return {_mm256_castsi256_ps(a.lo), _mm256_castsi256_ps(a.hi)}; }
  ETCH_WORD f to_float(i a) { return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)}; }
  ETCH_WORD i to_int(f a) { return {_mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi)}; }
  ETCH_WORD i add_int(i a, i b) { return ETCH_F(_mm256_add_epi32); }
  ETCH_WORD i sub_int(i a, i b) { return ETCH_F(_mm256_sub_epi32); }
  ETCH_WORD i and_int(i a, i b) { return ETCH_F(_mm256_and_si256); }
  ETCH_WORD i or_int(i a, i b) { return ETCH_F(_mm256_or_si256); }
  ETCH_WORD i xor_int(i a, i b) { return ETCH_F(_mm256_xor_si256); }
  ETCH_WORD i abs_int(i a) { return {_mm256_abs_epi32(a.lo), _mm256_abs_epi32(a.hi)}; }
  ETCH_WORD i max_int(i a, i b) { return ETCH_F(_mm256_max_epi32); }
  template <int n>
  ETCH_WORD i shift_left(i a) {
    return {_mm256_slli_epi32(a.lo, n), _mm256_slli_epi32(a.hi, n)};
  }
  template <int n>
  ETCH_WORD i shift_right(i a) {
    return {_mm256_srai_epi32(a.lo, n), _mm256_srai_epi32(a.hi, n)};
  }

  ETCH_WORD m less(f a, f b) {
    return {_mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ)};
  }
  ETCH_WORD m less_equal(f a, f b) {
    return {_mm256_cmp_ps(a.lo, b.lo, _CMP_LE_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_LE_OQ)};
  }
  ETCH_WORD m equal(f a, f b) {
    return {_mm256_cmp_ps(a.lo, b.lo, _CMP_EQ_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_EQ_OQ)};
  }
  ETCH_WORD m less_int(i a, i b) {
    return as_mask({_mm256_cmpgt_epi32(b.lo, a.lo), _mm256_cmpgt_epi32(b.hi, a.hi)});
  }
  ETCH_WORD m both(m a, m b) { return {_mm256_and_ps(a.lo, b.lo), _mm256_and_ps(a.hi, b.hi)}; }
  ETCH_WORD m lanes(int64_t first, int64_t last) {
    const i below = first_lanes(first), within = first_lanes(last);
    return as_mask(
        {_mm256_andnot_si256(below.lo, within.lo), _mm256_andnot_si256(below.hi, within.hi)});
  }
  ETCH_WORD m odd(i a) { return as_mask(shift_right<31>(shift_left<31>(a))); }
  ETCH_WORD f select(m c, f a, f b) {
    return {_mm256_blendv_ps(b.lo, a.lo, c.lo), _mm256_blendv_ps(b.hi, a.hi, c.hi)};
  }
  ETCH_WORD bool all(m c) { return (_mm256_movemask_ps(c.lo) & _mm256_movemask_ps(c.hi)) == 0xff; }

  ETCH_WORD float reduce_add(f a) {
    const __m256 eight = _mm256_add_ps(a.lo, a.hi);
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two))) + 0.0f;
  }
  ETCH_WORD float reduce_max(f a) {
    const __m256 eight = _mm256_max_ps(a.lo, a.hi);
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
  }
  ETCH_WORD int32_t reduce_max_int(i a) {
    const __m256i eight = _mm256_max_epi32(a.lo, a.hi);
    __m128i four = _mm_max_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
  }
  ETCH_WORD void load_pairs(const float* p, f& even, f& odd) {
    const f a = load(p), b = load(p + 16);
    even = {in_order(_mm256_shuffle_ps(a.lo, a.hi, 0x88)),
            in_order(_mm256_shuffle_ps(b.lo, b.hi, 0x88))};
    odd = {in_order(_mm256_shuffle_ps(a.lo, a.hi, 0xdd)),
           in_order(_mm256_shuffle_ps(b.lo, b.hi, 0xdd))};
  }
  ETCH_WORD void store_pairs(float* p, f even, f odd) {
    store(p, interleaved(even.lo, odd.lo));
    store(p + 16, interleaved(even.hi, odd.hi));
  }
  ETCH_WORD void pin(f& a) { asm("" : "+x"(a.lo), "+x"(a.hi)); }

#undef ETCH_F

 private:
  ETCH_WORD i first_lanes(int64_t n) {  // any n: below 0 none, above 16 all
    const int32_t count = n <= 0 ? 0 : n >= 16 ? 16 : static_cast<int32_t>(n);
    const i all = set_int(count), lane = iota();
    return {_mm256_cmpgt_epi32(all.lo, lane.lo), _mm256_cmpgt_epi32(all.hi, lane.hi)};
  }
  ETCH_WORD m as_mask(i a) { return {_mm256_castsi256_ps(a.lo), _mm256_castsi256_ps(a.hi)}; }
  ETCH_WORD __m128i load_128(const void* p) {
    return _mm_loadu_si128(static_cast<const __m128i*>(p));
  }
  ETCH_WORD void store_128(void* p, __m128i a) { _mm_storeu_si128(static_cast<__m128i*>(p), a); }
  // The 64-bit quarters of a shuffle of two registers, put back in order: 0 2 1 3.
  ETCH_WORD __m256 in_order(__m256 a) {
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(a), 0xd8));
  }
  ETCH_WORD f interleaved(__m256 even, __m256 odd) {
    const __m256 a = _mm256_unpacklo_ps(even, odd), b = _mm256_unpackhi_ps(even, odd);
    return {_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31)};
  }
};

}  // namespace etch

// What kernels of this instruction set call their float words.
namespace etch::avx2 {
using floats = avx2_float;
}
