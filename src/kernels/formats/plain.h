// What the plain decoders of the formats share. A format is a struct named as in blocks.h:
//
//   Block, Group     its struct in a file; what is kept of an activation group (activations.h)
//   kElements        elements of a block
//   kGroup           elements that share an integer scale: 16 or 32
//   kOffset          what is taken off the codes; a power of two or 0
//   kMinimum         whether a minimum is added
//   codes(b, u)      the unsigned codes, in order of elements
//   scale(b)         d, and minimum(b): m or dmin where kMinimum
//   sub_scale(b, g)  the integer scale of group g (256 elements), and sub_minimum(b, g)
#pragma once

#include "dtypes/blocks.h"
#include "kernels/activations.h"
#include "kernels/simd/scalar_dot.h"

namespace etch::ETCH_ISA {

// Byte i holds code i in its low nibble and code i + n in its high one.
ETCH_WORD void split_nibbles(const uint8_t* bytes, int n, uint8_t* u) {
  for (int i = 0; i < n; ++i) {
    u[i] = bytes[i] & 15;
    u[i + n] = bytes[i] >> 4;
  }
}

// Bit i of qh is the fifth bit of code i.
ETCH_WORD void add_fifth_bits(const uint8_t* qh, uint8_t* u) {
  for (int i = 0; i < 32; ++i) u[i] = static_cast<uint8_t>(u[i] | (qh[i / 8] >> (i % 8) & 1) << 4);
}

// The 6-bit scales and minimums of q4_k and q5_k.
ETCH_WORD int six_bit_scale(const uint8_t* s, int g) {
  return g < 4 ? s[g] & 63 : (s[g + 4] & 15) | s[g - 4] >> 6 << 4;
}
ETCH_WORD int six_bit_minimum(const uint8_t* s, int g) {
  return g < 4 ? s[g + 4] & 63 : s[g + 4] >> 4 | s[g] >> 6 << 4;
}

}  // namespace etch::ETCH_ISA
