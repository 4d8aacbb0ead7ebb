// q4_0: nibbles, offset 8.
#pragma once

#include "kernels/formats/plain.h"

namespace etch::ETCH_ISA {

struct q4_0 {
  using Block = blocks::q4_0;
  using Group = activations::Group32;
  static constexpr int kElements = 32, kGroup = 32, kOffset = 8;
  static constexpr bool kMinimum = false;

  static void codes(const Block& b, uint8_t* u) { split_nibbles(b.qs, 16, u); }
  static float scale(const Block& b) { return half1(b.d); }
};

}  // namespace etch::ETCH_ISA
