// q8_0: bytes, offset 128 once their sign bit is turned.
#pragma once

#include "kernels/formats/plain.h"

namespace etch::ETCH_ISA {

struct q8_0 {
  using Block = blocks::q8_0;
  using Group = activations::Group32;
  static constexpr int kElements = 32, kGroup = 32, kOffset = 128;
  static constexpr bool kMinimum = false;

  static void codes(const Block& b, uint8_t* u) {
    for (int i = 0; i < 32; ++i) u[i] = static_cast<uint8_t>(b.qs[i] + 128);
  }
  static float scale(const Block& b) { return half1(b.d); }
};

}  // namespace etch::ETCH_ISA
