// iq4_nl: nibbles that choose among 16 values, offset 128.
#pragma once

#include "kernels/formats/plain.h"

namespace etch::ETCH_ISA {

struct iq4_nl {
  using Block = blocks::iq4_nl;
  using Group = activations::Group32;
  static constexpr int kElements = 32, kGroup = 32, kOffset = 128;
  static constexpr bool kMinimum = false;

  static void codes(const Block& b, uint8_t* u) {
    split_nibbles(b.qs, 16, u);
    for (int i = 0; i < 32; ++i) u[i] = static_cast<uint8_t>(blocks::kIq4Values[u[i]] + 128);
  }
  static float scale(const Block& b) { return half1(b.d); }
};

}  // namespace etch::ETCH_ISA
