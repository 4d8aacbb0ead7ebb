// iq4_xs: nibbles that choose among 16 values, offset 128, a signed 6-bit scale per 32.
#pragma once

#include "kernels/formats/plain.h"

namespace etch::ETCH_ISA {

struct iq4_xs {
  using Block = blocks::iq4_xs;
  using Group = activations::Group256;
  static constexpr int kElements = 256, kGroup = 32, kOffset = 128;
  static constexpr bool kMinimum = false;

  static void codes(const Block& b, uint8_t* u) {
    for (int g = 0; g < 8; ++g) split_nibbles(b.qs + 16 * g, 16, u + 32 * g);
    for (int i = 0; i < 256; ++i) u[i] = static_cast<uint8_t>(blocks::kIq4Values[u[i]] + 128);
  }
  static float scale(const Block& b) { return half1(b.d); }
  static int sub_scale(const Block& b, int g) {
    const int low = b.scales_l[g / 2] >> (g % 2 * 4) & 15;
    return (low | (b.scales_h >> (2 * g) & 3) << 4) - 32;
  }
};

}  // namespace etch::ETCH_ISA
