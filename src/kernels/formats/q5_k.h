// q5_k: nibbles and a fifth bit, a 6-bit scale and minimum per 32.
#pragma once

#include "kernels/formats/plain.h"

namespace etch::ETCH_ISA {

struct q5_k {
  using Block = blocks::q5_k;
  using Group = activations::Group256;
  static constexpr int kElements = 256, kGroup = 32, kOffset = 0;
  static constexpr bool kMinimum = true;

  static void codes(const Block& b, uint8_t* u) {
    for (int g = 0; g < 4; ++g) split_nibbles(b.qs + 32 * g, 32, u + 64 * g);
    for (int i = 0; i < 256; ++i)
      u[i] = static_cast<uint8_t>(u[i] | (b.qh[i % 32] >> (i / 32) & 1) << 4);
  }
  static float scale(const Block& b) { return half1(b.d); }
  static float minimum(const Block& b) { return half1(b.dmin); }
  static int sub_scale(const Block& b, int g) { return six_bit_scale(b.scales, g); }
  static int sub_minimum(const Block& b, int g) { return six_bit_minimum(b.scales, g); }
};

}  // namespace etch::ETCH_ISA
