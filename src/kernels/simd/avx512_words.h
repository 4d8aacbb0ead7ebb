// The integer words of products for 512-bit registers (F, BW, DQ, VL), the same with and without
// VNNI. scalar_words.h says what each one means.
#pragma once

#include <immintrin.h>

#include "kernels/simd/scalar_dot.h"
#include "kernels/simd/unrolled.h"

namespace etch::ETCH_ISA {

#define ETCH_ROWS_ABREAST 16

using V = __m512i;  // 16 rows, four bytes (or two int16, or one int32) of each
using F = __m512;

constexpr int kLanes = 16;
constexpr int kTileVectors =
    2;  // of a panel's micro-tile: 2 x 6 sums, 2 weights and a broadcast in 32 registers

ETCH_WORD V load(const void* p) { return _mm512_loadu_si512(p); }
ETCH_WORD void store(void* p, V a) { _mm512_storeu_si512(p, a); }
ETCH_WORD F load_floats(const float* p) { return _mm512_loadu_ps(p); }
ETCH_WORD void store_floats(float* p, F a) { _mm512_storeu_ps(p, a); }
ETCH_WORD V all(int32_t x) { return _mm512_set1_epi32(x); }
ETCH_WORD V all_at(const void* p) {
  int32_t x;
  __builtin_memcpy(&x, p, 4);
  return _mm512_set1_epi32(x);
}
ETCH_WORD F all_floats(float x) { return _mm512_set1_ps(x); }
ETCH_WORD V bit_and(V a, V b) { return _mm512_and_si512(a, b); }
ETCH_WORD V bit_or(V a, V b) { return _mm512_or_si512(a, b); }
ETCH_WORD V bit_xor(V a, V b) { return _mm512_xor_si512(a, b); }
ETCH_WORD V add(V a, V b) { return _mm512_add_epi32(a, b); }
ETCH_WORD V sub(V a, V b) { return _mm512_sub_epi32(a, b); }
ETCH_WORD V mul(V a, V b) { return _mm512_mullo_epi32(a, b); }
ETCH_WORD V sub8(V a, V b) { return _mm512_sub_epi8(a, b); }
ETCH_WORD V add16(V a, V b) { return _mm512_add_epi16(a, b); }
template <int n>
ETCH_WORD V left(V a) {
  return _mm512_slli_epi32(a, n);
}
template <int n>
ETCH_WORD V right(V a) {
  return _mm512_srli_epi32(a, n);
}
template <int n>
ETCH_WORD V right_signed(V a) {
  return _mm512_srai_epi32(a, n);
}
ETCH_WORD V right_by(V a, int n) { return _mm512_srl_epi32(a, _mm_cvtsi32_si128(n)); }
ETCH_WORD V even_bytes_signed(V a) { return _mm512_srai_epi16(_mm512_slli_epi16(a, 8), 8); }
ETCH_WORD V odd_bytes_signed(V a) { return _mm512_srai_epi16(a, 8); }
ETCH_WORD F to_float(V a) { return _mm512_cvtepi32_ps(a); }
ETCH_WORD F mul(F a, F b) { return _mm512_mul_ps(a, b); }
ETCH_WORD F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
ETCH_WORD F fnma(F a, F b, F c) { return _mm512_fnmadd_ps(a, b, c); }
ETCH_WORD F low_halves(V a) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(a)); }
ETCH_WORD F high_halves(V a) { return low_halves(right<16>(a)); }
ETCH_WORD V look_up(const int8_t* table, V nibbles) {
  const V t = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
  return _mm512_shuffle_epi8(t, nibbles);
}
ETCH_WORD void pin(V& a) { asm("" : "+v"(a)); }

ETCH_WORD V pair_products(V u, V s) { return _mm512_maddubs_epi16(u, s); }
ETCH_WORD V pair_sums(V a, V b) { return _mm512_madd_epi16(a, b); }
ETCH_WORD V absolute_bytes(V a) { return _mm512_abs_epi8(a); }
ETCH_WORD V signed_pair_products(V magnitude, V w, V s) {
  const V turned = _mm512_mask_sub_epi8(s, _mm512_movepi8_mask(w), _mm512_setzero_si512(), s);
  return _mm512_maddubs_epi16(magnitude, turned);
}
// Bit 4 i + j of each dword to bit 4 of byte j.
template <int i>
ETCH_WORD V fifth_bits(V bits) {
  const V byte = _mm512_shuffle_epi8(
      bits, _mm512_set4_epi32(0x0c0c0c0c + i / 2 * 0x01010101, 0x08080808 + i / 2 * 0x01010101,
                              0x04040404 + i / 2 * 0x01010101, i / 2 * 0x01010101));
  const __mmask64 set = _mm512_test_epi8_mask(
      byte, _mm512_set1_epi32(i % 2 == 0 ? 0x08040201 : static_cast<int>(0x80402010u)));
  return _mm512_maskz_mov_epi8(set, _mm512_set1_epi8(16));
}

// Rows 0, 4, 8 and 12 of rows `stride` apart. The compiler must not see through them: it would keep
// 16 distances in registers that it does not have.
struct FourthRows {
  const uint8_t* at[4];
  int64_t stride;
};
ETCH_WORD FourthRows fourth_rows(const uint8_t* rows, int64_t stride) {
  FourthRows f{{rows, rows + 4 * stride, rows + 8 * stride, rows + 12 * stride}, stride};
  asm("" : "+r"(f.at[1]), "+r"(f.at[2]), "+r"(f.at[3]));
  return f;
}

// 16 bytes of each of the rows r, r + 4, r + 8, r + 12.
template <int r>
ETCH_WORD V four_rows(const FourthRows& rows) {
  const auto at = [&](int i) ETCH_LAMBDA {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows.at[i] + r * rows.stride));
  };
  V v = _mm512_castsi128_si512(at(0));
  v = _mm512_inserti32x4(v, at(1), 1);
  v = _mm512_inserti32x4(v, at(2), 2);
  return _mm512_inserti32x4(v, at(3), 3);
}

ETCH_WORD void transpose(const uint8_t* rows, int64_t stride, V* out) {
  const FourthRows f = fourth_rows(rows, stride);
  const V a = four_rows<0>(f), b = four_rows<1>(f), c = four_rows<2>(f), d = four_rows<3>(f);
  const V ab_low = _mm512_unpacklo_epi32(a, b), ab_high = _mm512_unpackhi_epi32(a, b);
  const V cd_low = _mm512_unpacklo_epi32(c, d), cd_high = _mm512_unpackhi_epi32(c, d);
  out[0] = _mm512_unpacklo_epi64(ab_low, cd_low);
  out[1] = _mm512_unpackhi_epi64(ab_low, cd_low);
  out[2] = _mm512_unpacklo_epi64(ab_high, cd_high);
  out[3] = _mm512_unpackhi_epi64(ab_high, cd_high);
}

ETCH_WORD __m128i four_dwords(const uint8_t* rows, int64_t stride) {
  const auto at = [&](int r) ETCH_LAMBDA {
    int32_t x;
    __builtin_memcpy(&x, rows + r * stride, 4);
    return x;
  };
  return _mm_insert_epi32(
      _mm_insert_epi32(_mm_insert_epi32(_mm_cvtsi32_si128(at(0)), at(1), 1), at(2), 2), at(3), 3);
}

ETCH_WORD V row_dwords(const uint8_t* rows, int64_t stride) {
  const FourthRows f = fourth_rows(rows, stride);
  V v = _mm512_castsi128_si512(four_dwords(f.at[0], stride));
  v = _mm512_inserti32x4(v, four_dwords(f.at[1], stride), 1);
  v = _mm512_inserti32x4(v, four_dwords(f.at[2], stride), 2);
  return _mm512_inserti32x4(v, four_dwords(f.at[3], stride), 3);
}

}  // namespace etch::ETCH_ISA
