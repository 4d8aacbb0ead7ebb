// q3_k: two-bit codes and a third bit, offset 4, a signed 6-bit scale per 16.
#pragma once

#include "kernels/formats/plain.h"

namespace etch::ETCH_ISA {

struct q3_k {
  using Block = blocks::q3_k;
  using Group = activations::Group256;
  static constexpr int kElements = 256, kGroup = 16, kOffset = 4;
  static constexpr bool kMinimum = false;

  static void codes(const Block& b, uint8_t* u) {
    for (int i = 0; i < 256; ++i) {
      const int low = b.qs[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
      u[i] = static_cast<uint8_t>(low | (b.hmask[i % 32] >> (i / 32) & 1) << 2);
    }
  }
  static float scale(const Block& b) { return half1(b.d); }
  static int sub_scale(const Block& b, int g) {
    const int low = g < 8 ? b.scales[g] & 15 : b.scales[g - 8] >> 4;
    return (low | (b.scales[8 + g % 4] >> (g / 4 * 2) & 3) << 4) - 32;
  }
};

}  // namespace etch::ETCH_ISA
