// Integer words: what a product does with rows that stand side by side. This file says what each
// word means; avx2_dot.h, avx512_words.h and the two files over it have the same names and give the
// same bits (simd/words_test.cc).
//
//   V   16 rows (8 on AVX2), of each a dword: four bytes, two int16 or one int32
//   F   a float of each row
#pragma once

#include "kernels/simd/unrolled.h"

namespace etch::ETCH_ISA {

constexpr int kLanes = 16;

struct V {
  uint32_t at[kLanes];
};
struct F {
  float at[kLanes];
};

template <class Lane>
ETCH_WORD V each_lane(Lane lane) {
  V r;
  for (int i = 0; i < kLanes; ++i) r.at[i] = static_cast<uint32_t>(lane(i));
  return r;
}
template <class Lane>
ETCH_WORD F each_float(Lane lane) {
  F r;
  for (int i = 0; i < kLanes; ++i) r.at[i] = lane(i);
  return r;
}
// Byte j of a dword, half j of a dword; dwords made of them.
ETCH_WORD uint8_t byte_of(uint32_t x, int j) { return static_cast<uint8_t>(x >> 8 * j); }
ETCH_WORD int8_t signed_byte_of(uint32_t x, int j) { return static_cast<int8_t>(x >> 8 * j); }
ETCH_WORD int16_t half_of(uint32_t x, int j) { return static_cast<int16_t>(x >> 16 * j); }
template <class Byte>
ETCH_WORD uint32_t of_bytes(Byte byte) {
  uint32_t r = 0;
  for (int j = 0; j < 4; ++j) r |= static_cast<uint32_t>(static_cast<uint8_t>(byte(j))) << 8 * j;
  return r;
}
template <class Half>
ETCH_WORD uint32_t of_halves(Half half) {
  return static_cast<uint16_t>(half(0)) | static_cast<uint32_t>(static_cast<uint16_t>(half(1)))
                                              << 16;
}
ETCH_WORD int32_t clamp16(int32_t x) { return x < -32768 ? -32768 : x > 32767 ? 32767 : x; }

ETCH_WORD V load(const void* p) {
  V r;
  __builtin_memcpy(&r, p, sizeof r);
  return r;
}
ETCH_WORD void store(void* p, V a) { __builtin_memcpy(p, &a, sizeof a); }
ETCH_WORD F load_floats(const float* p) {
  return each_float([&](int i) { return p[i]; });
}
ETCH_WORD void store_floats(float* p, F a) { __builtin_memcpy(p, &a, sizeof a); }
// The same in every lane: a number, the dword at p (of any alignment), a float.
ETCH_WORD V all(int32_t x) {
  return each_lane([&](int) { return x; });
}
ETCH_WORD V all_at(const void* p) {
  int32_t x;
  __builtin_memcpy(&x, p, 4);
  return all(x);
}
ETCH_WORD F all_floats(float x) {
  return each_float([&](int) { return x; });
}

ETCH_WORD V bit_and(V a, V b) {
  return each_lane([&](int i) { return a.at[i] & b.at[i]; });
}
ETCH_WORD V bit_or(V a, V b) {
  return each_lane([&](int i) { return a.at[i] | b.at[i]; });
}
ETCH_WORD V bit_xor(V a, V b) {
  return each_lane([&](int i) { return a.at[i] ^ b.at[i]; });
}
// int32, wrapping.
ETCH_WORD V add(V a, V b) {
  return each_lane([&](int i) { return a.at[i] + b.at[i]; });
}
ETCH_WORD V sub(V a, V b) {
  return each_lane([&](int i) { return a.at[i] - b.at[i]; });
}
ETCH_WORD V mul(V a, V b) {
  return each_lane([&](int i) { return a.at[i] * b.at[i]; });
}
// Bytes and int16, wrapping.
ETCH_WORD V sub8(V a, V b) {
  return each_lane([&](int i) {
    return of_bytes([&](int j) { return byte_of(a.at[i], j) - byte_of(b.at[i], j); });
  });
}
ETCH_WORD V add16(V a, V b) {
  return each_lane([&](int i) {
    return of_halves([&](int j) { return half_of(a.at[i], j) + half_of(b.at[i], j); });
  });
}
// Shifts of dwords, 0 <= n < 32.
template <int n>
ETCH_WORD V left(V a) {
  return each_lane([&](int i) { return a.at[i] << n; });
}
template <int n>
ETCH_WORD V right(V a) {
  return each_lane([&](int i) { return a.at[i] >> n; });
}
template <int n>
ETCH_WORD V right_signed(V a) {
  return each_lane([&](int i) { return static_cast<int32_t>(a.at[i]) >> n; });
}
ETCH_WORD V right_by(V a, int n) {
  return each_lane([&](int i) { return a.at[i] >> n; });
}
// Bytes 0 and 2, or 1 and 3, as int16.
ETCH_WORD V even_bytes_signed(V a) {
  return each_lane(
      [&](int i) { return of_halves([&](int j) { return signed_byte_of(a.at[i], 2 * j); }); });
}
ETCH_WORD V odd_bytes_signed(V a) {
  return each_lane(
      [&](int i) { return of_halves([&](int j) { return signed_byte_of(a.at[i], 2 * j + 1); }); });
}

ETCH_WORD F to_float(V a) {
  return each_float([&](int i) { return static_cast<float>(static_cast<int32_t>(a.at[i])); });
}
ETCH_WORD F mul(F a, F b) {
  return each_float([&](int i) { return a.at[i] * b.at[i]; });
}
// a b + c, and c - a b, rounded once.
ETCH_WORD F fma(F a, F b, F c) {
  return each_float([&](int i) { return fma1(a.at[i], b.at[i], c.at[i]); });
}
ETCH_WORD F fnma(F a, F b, F c) {
  return each_float([&](int i) { return fma1(-a.at[i], b.at[i], c.at[i]); });
}
// The half floats in the low, or high, 16 bits.
ETCH_WORD F low_halves(V a) {
  return each_float([&](int i) { return half1(static_cast<uint16_t>(a.at[i])); });
}
ETCH_WORD F high_halves(V a) {
  return each_float([&](int i) { return half1(static_cast<uint16_t>(a.at[i] >> 16)); });
}
// table[byte] for every byte, which is below 16.
ETCH_WORD V look_up(const int8_t* table, V nibbles) {
  return each_lane([&](int i) {
    return of_bytes([&](int j) { return table[byte_of(nibbles.at[i], j) & 15]; });
  });
}
// Bit 4 i + j of each dword to bit 4 of byte j.
template <int i>
ETCH_WORD V fifth_bits(V bits) {
  return each_lane([&](int lane) {
    return of_bytes([&](int j) { return (bits.at[lane] >> (4 * i + j) & 1) << 4; });
  });
}

// Sums of two neighbouring products of an unsigned and a signed byte, which fit int16 (else they
// saturate).
ETCH_WORD V pair_products(V u, V s) {
  return each_lane([&](int i) {
    return of_halves([&](int j) {
      return clamp16(byte_of(u.at[i], 2 * j) * signed_byte_of(s.at[i], 2 * j) +
                     byte_of(u.at[i], 2 * j + 1) * signed_byte_of(s.at[i], 2 * j + 1));
    });
  });
}
// The same of two signed bytes; magnitude is |w|, and s is never -128.
ETCH_WORD V signed_pair_products(V, V w, V s) {
  return each_lane([&](int i) {
    return of_halves([&](int j) {
      return clamp16(signed_byte_of(w.at[i], 2 * j) * signed_byte_of(s.at[i], 2 * j) +
                     signed_byte_of(w.at[i], 2 * j + 1) * signed_byte_of(s.at[i], 2 * j + 1));
    });
  });
}
ETCH_WORD V absolute_bytes(V a) {
  return each_lane([&](int i) {
    return of_bytes([&](int j) {
      const int x = signed_byte_of(a.at[i], j);
      return x < 0 ? -x : x;
    });
  });
}
// Sum of two products of int16, as int32.
ETCH_WORD V pair_sums(V a, V b) {
  return each_lane([&](int i) {
    return half_of(a.at[i], 0) * half_of(b.at[i], 0) + half_of(a.at[i], 1) * half_of(b.at[i], 1);
  });
}
ETCH_WORD V dot_pairs(V sum, V a, V b) { return add(sum, pair_sums(a, b)); }
// Four products of an unsigned and a signed byte added to an int32. Where kHasDot is false the sums
// of two must fit int16.
ETCH_WORD V dot(V sum, V u, V s) {
  return each_lane([&](int i) {
    int32_t t = static_cast<int32_t>(sum.at[i]);
    for (int j = 0; j < 4; ++j) t += byte_of(u.at[i], j) * signed_byte_of(s.at[i], j);
    return t;
  });
}

// out[j]: dword j of the 16 bytes at each row; rows are `stride` bytes apart.
ETCH_WORD void transpose(const uint8_t* rows, int64_t stride, V* out) {
  for (int j = 0; j < 4; ++j)
    out[j] = each_lane([&](int i) {
      uint32_t x;
      __builtin_memcpy(&x, rows + i * stride + 4 * j, 4);
      return x;
    });
}
// The dword at each row.
ETCH_WORD V row_dwords(const uint8_t* rows, int64_t stride) {
  return each_lane([&](int i) {
    uint32_t x;
    __builtin_memcpy(&x, rows + i * stride, 4);
    return x;
  });
}

}  // namespace etch::ETCH_ISA
