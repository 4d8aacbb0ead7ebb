// q6_k: six-bit codes, offset 32, a signed byte as scale per 16.
#pragma once

#include "kernels/formats/plain.h"

namespace etch::ETCH_ISA {

struct q6_k {
  using Block = blocks::q6_k;
  using Group = activations::Group256;
  static constexpr int kElements = 256, kGroup = 16, kOffset = 32;
  static constexpr bool kMinimum = false;

  static void codes(const Block& b, uint8_t* u) {
    for (int i = 0; i < 256; ++i) {
      const int half = i / 128, g = i % 128 / 32, l = i % 32;
      const int low = b.ql[64 * half + 32 * (g % 2) + l] >> (g / 2 * 4) & 15;
      u[i] = static_cast<uint8_t>(low | (b.qh[32 * half + l] >> (2 * g) & 3) << 4);
    }
  }
  static float scale(const Block& b) { return half1(b.d); }
  static int sub_scale(const Block& b, int g) { return b.scales[g]; }
};

}  // namespace etch::ETCH_ISA
