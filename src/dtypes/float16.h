// Half floats and bfloat16 to float32 and back, exact, in integer arithmetic: the same on every
// machine.
//
//   f16    s eeeee mmmmmmmmmm            bias 15, subnormals are m * 2^-24
//   bf16   s eeeeeeee mmmmmmm            the upper half of a float32
//
// Narrowing rounds to nearest, ties to even, and overflows to infinity. A NaN stays one: it keeps
// its upper bits and becomes quiet (from f16 too, as the conversion instructions of x86 and ARM do
// it; bf16 widens by a mere shift).
//
// Kernels of every instruction set include this file, so its functions are static: the linker may
// not take one compiled for one machine into code for another.
#pragma once

#include <cstdint>

namespace etch {

namespace detail {
static inline float float_of_bits(uint32_t bits) { return __builtin_bit_cast(float, bits); }
static inline uint32_t bits_of_float(float x) { return __builtin_bit_cast(uint32_t, x); }
}  // namespace detail

static inline float f16_to_f32(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
  const uint32_t exponent = (h >> 10) & 31;
  const uint32_t mantissa = h & 1023;
  if (exponent == 0) {  // zero or subnormal: the product is exact
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return detail::float_of_bits(detail::bits_of_float(magnitude) | sign);
  }
  if (exponent == 31) {
    const uint32_t quiet = mantissa != 0 ? 0x400000u : 0u;
    return detail::float_of_bits(sign | 0x7f800000u | quiet | mantissa << 13);
  }
  return detail::float_of_bits(sign | (exponent + (127 - 15)) << 23 | mantissa << 13);
}

static inline uint16_t f32_to_f16(float x) {
  const uint32_t bits = detail::bits_of_float(x);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return static_cast<uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x47800000) return static_cast<uint16_t>(sign | 0x7c00);  // 65536 and above
  // The result is `kept` units of its last place, rounded by what is dropped. For normal halves the
  // exponent sits above the mantissa in `kept`, so that a carry out of the mantissa raises it
  // (65520 becomes infinity).
  uint32_t kept, dropped, half;
  if (magnitude >= 0x38800000) {  // 2^-14: normal
    const uint32_t rebased = magnitude - ((127 - 15) << 23);
    kept = rebased >> 13;
    dropped = rebased & 0x1fff;
    half = 0x1000;
  } else if (magnitude >=
             0x33000000) {  // 2^-25: rounds to a subnormal (or, exactly there, to zero)
    const uint32_t shift = 126 - (magnitude >> 23);  // 14 .. 24
    const uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000;
    kept = mantissa >> shift;
    dropped = mantissa & ((1u << shift) - 1);
    half = 1u << (shift - 1);
  } else {
    return sign;
  }
  if (dropped > half || (dropped == half && (kept & 1) != 0)) ++kept;
  return static_cast<uint16_t>(sign | kept);
}

static inline float bf16_to_f32(uint16_t b) {
  return detail::float_of_bits(static_cast<uint32_t>(b) << 16);
}

static inline uint16_t f32_to_bf16(float x) {
  const uint32_t bits = detail::bits_of_float(x);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace etch
