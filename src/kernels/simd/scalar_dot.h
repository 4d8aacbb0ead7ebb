// The plain words that products, scalar references and tails are written in. Compiled for every
// instruction set, each in its own namespace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "etch/model_abi.h"

namespace etch::ETCH_ISA {

#define ETCH_WORD static inline __attribute__((always_inline))
#define ETCH_METHOD inline __attribute__((always_inline))

ETCH_WORD float float_of_bits(uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, 4);
  return x;
}
ETCH_WORD uint32_t bits_of_float(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, 4);
  return bits;
}

// a * b + c, rounded once.
ETCH_WORD float fma1(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

// A half float, exactly. Normal numbers are rebased by a product with a power of two, which makes
// subnormals right as well; infinity and NaN keep their bits.
ETCH_WORD float half1(uint16_t h) {
  const uint32_t magnitude = h & 0x7fffu;
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  uint32_t bits = bits_of_float(float_of_bits(magnitude << 13) * 0x1p112f);
  if (magnitude >= 0x7c00u)
    bits = 0x7f800000u | (magnitude > 0x7c00u ? 0x400000u : 0u) | magnitude << 13;
  return float_of_bits(bits | sign);
}

// Nearest integer, ties to even, for |x| < 2^22: adding 1.5 * 2^23 leaves no room for a fraction.
ETCH_WORD float nearest1(float x) {
  const float kMagic = 12582912.0f;
  return (x + kMagic) - kMagic;
}

}  // namespace etch::ETCH_ISA
