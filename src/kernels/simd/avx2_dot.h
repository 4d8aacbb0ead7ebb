// The integer words of products for AVX2: 8 rows, byte pairs. scalar_words.h says what each one
// means.
#pragma once

#include <immintrin.h>

#include "kernels/simd/scalar_dot.h"

namespace etch::ETCH_ISA {

#define ETCH_ROWS_ABREAST 8

using V = __m256i;
using F = __m256;

constexpr int kLanes = 8;
constexpr int kTileVectors =
    1;  // of a panel's micro-tile: 6 sums of pairs and 6 of products in 16 registers
constexpr bool kHasDot = false;

ETCH_WORD V load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
ETCH_WORD void store(void* p, V a) { _mm256_storeu_si256(static_cast<__m256i*>(p), a); }
ETCH_WORD F load_floats(const float* p) { return _mm256_loadu_ps(p); }
ETCH_WORD void store_floats(float* p, F a) { _mm256_storeu_ps(p, a); }
ETCH_WORD V all(int32_t x) { return _mm256_set1_epi32(x); }
ETCH_WORD V all_at(const void* p) {
  int32_t x;
  __builtin_memcpy(&x, p, 4);
  return _mm256_set1_epi32(x);
}
ETCH_WORD F all_floats(float x) { return _mm256_set1_ps(x); }
ETCH_WORD V bit_and(V a, V b) { return _mm256_and_si256(a, b); }
ETCH_WORD V bit_or(V a, V b) { return _mm256_or_si256(a, b); }
ETCH_WORD V bit_xor(V a, V b) { return _mm256_xor_si256(a, b); }
ETCH_WORD V add(V a, V b) { return _mm256_add_epi32(a, b); }
ETCH_WORD V sub(V a, V b) { return _mm256_sub_epi32(a, b); }
ETCH_WORD V mul(V a, V b) { return _mm256_mullo_epi32(a, b); }
ETCH_WORD V sub8(V a, V b) { return _mm256_sub_epi8(a, b); }
ETCH_WORD V add16(V a, V b) { return _mm256_add_epi16(a, b); }
template <int n>
ETCH_WORD V left(V a) {
  return _mm256_slli_epi32(a, n);
}
template <int n>
ETCH_WORD V right(V a) {
  return _mm256_srli_epi32(a, n);
}
template <int n>
ETCH_WORD V right_signed(V a) {
  return _mm256_srai_epi32(a, n);
}
ETCH_WORD V right_by(V a, int n) { return _mm256_srl_epi32(a, _mm_cvtsi32_si128(n)); }
ETCH_WORD V even_bytes_signed(V a) { return _mm256_srai_epi16(_mm256_slli_epi16(a, 8), 8); }
ETCH_WORD V odd_bytes_signed(V a) { return _mm256_srai_epi16(a, 8); }
ETCH_WORD F to_float(V a) { return _mm256_cvtepi32_ps(a); }
ETCH_WORD F mul(F a, F b) { return _mm256_mul_ps(a, b); }
ETCH_WORD F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
ETCH_WORD F fnma(F a, F b, F c) { return _mm256_fnmadd_ps(a, b, c); }
ETCH_WORD F low_halves(V a) {
  const V masked = _mm256_and_si256(a, _mm256_set1_epi32(0xffff));
  const V packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(masked, masked), 0x08);
  return _mm256_cvtph_ps(_mm256_castsi256_si128(packed));
}
ETCH_WORD F high_halves(V a) { return low_halves(right<16>(a)); }
ETCH_WORD V look_up(const int8_t* table, V nibbles) {
  const V t = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
  return _mm256_shuffle_epi8(t, nibbles);
}
ETCH_WORD void pin(V& a) { asm("" : "+x"(a)); }

ETCH_WORD V pair_products(V u, V s) { return _mm256_maddubs_epi16(u, s); }
ETCH_WORD V pair_sums(V a, V b) { return _mm256_madd_epi16(a, b); }
ETCH_WORD V dot(V sum, V u, V s) {  // where sums of two products fit int16
  return add(sum, pair_sums(pair_products(u, s), all(0x00010001)));
}
ETCH_WORD V dot_pairs(V sum, V a, V b) { return add(sum, pair_sums(a, b)); }
ETCH_WORD V absolute_bytes(V a) { return _mm256_abs_epi8(a); }
ETCH_WORD V signed_pair_products(V magnitude, V w, V s) {
  return _mm256_maddubs_epi16(magnitude, _mm256_sign_epi8(s, w));
}
template <int i>
ETCH_WORD V fifth_bits(V bits) {
  const int p = i / 2 * 0x01010101;
  const V byte = _mm256_shuffle_epi8(
      bits, _mm256_setr_epi32(p, p + 0x04040404, p + 0x08080808, p + 0x0c0c0c0c, p, p + 0x04040404,
                              p + 0x08080808, p + 0x0c0c0c0c));
  const V one = _mm256_set1_epi32(i % 2 == 0 ? 0x08040201 : static_cast<int>(0x80402010u));
  return _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_and_si256(byte, one), one),
                          _mm256_set1_epi8(16));
}

template <int r>
ETCH_WORD V two_rows(const uint8_t* rows, int64_t stride) {
  const auto at = [](const uint8_t* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  };
  return _mm256_inserti128_si256(_mm256_castsi128_si256(at(rows + r * stride)),
                                 at(rows + (r + 4) * stride), 1);
}

ETCH_WORD void transpose(const uint8_t* rows, int64_t stride, V* out) {
  const V a = two_rows<0>(rows, stride), b = two_rows<1>(rows, stride);
  const V c = two_rows<2>(rows, stride), d = two_rows<3>(rows, stride);
  const V ab_low = _mm256_unpacklo_epi32(a, b), ab_high = _mm256_unpackhi_epi32(a, b);
  const V cd_low = _mm256_unpacklo_epi32(c, d), cd_high = _mm256_unpackhi_epi32(c, d);
  out[0] = _mm256_unpacklo_epi64(ab_low, cd_low);
  out[1] = _mm256_unpackhi_epi64(ab_low, cd_low);
  out[2] = _mm256_unpacklo_epi64(ab_high, cd_high);
  out[3] = _mm256_unpackhi_epi64(ab_high, cd_high);
}

template <int r>
ETCH_WORD __m128i four_dwords(const uint8_t* rows, int64_t stride) {
  const auto at = [](const uint8_t* p) {
    int32_t x;
    __builtin_memcpy(&x, p, 4);
    return x;
  };
  __m128i v = _mm_cvtsi32_si128(at(rows + r * stride));
  v = _mm_insert_epi32(v, at(rows + (r + 1) * stride), 1);
  v = _mm_insert_epi32(v, at(rows + (r + 2) * stride), 2);
  return _mm_insert_epi32(v, at(rows + (r + 3) * stride), 3);
}

ETCH_WORD V row_dwords(const uint8_t* rows, int64_t stride) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(four_dwords<0>(rows, stride)),
                                 four_dwords<4>(rows, stride), 1);
}

}  // namespace etch::ETCH_ISA
