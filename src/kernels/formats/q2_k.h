// q2_k: two-bit codes, a 4-bit scale and minimum per 16.
#pragma once

#include "kernels/formats/plain.h"

namespace etch::ETCH_ISA {

struct q2_k {
  using Block = blocks::q2_k;
  using Group = activations::Group256;
  static constexpr int kElements = 256, kGroup = 16, kOffset = 0;
  static constexpr bool kMinimum = true;

  static void codes(const Block& b, uint8_t* u) {
    for (int i = 0; i < 256; ++i) u[i] = b.qs[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
  }
  static float scale(const Block& b) { return half1(b.d); }
  static float minimum(const Block& b) { return half1(b.dmin); }
  static int sub_scale(const Block& b, int g) { return b.scales[g] & 15; }
  static int sub_minimum(const Block& b, int g) { return b.scales[g] >> 4; }
};

}  // namespace etch::ETCH_ISA
