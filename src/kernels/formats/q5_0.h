// q5_0: nibbles and a fifth bit, offset 16.
#pragma once

#include "kernels/formats/plain.h"

namespace etch::ETCH_ISA {

struct q5_0 {
  using Block = blocks::q5_0;
  using Group = activations::Group32;
  static constexpr int kElements = 32, kGroup = 32, kOffset = 16;
  static constexpr bool kMinimum = false;

  static void codes(const Block& b, uint8_t* u) {
    split_nibbles(b.qs, 16, u);
    add_fifth_bits(b.qh, u);
  }
  static float scale(const Block& b) { return half1(b.d); }
};

}  // namespace etch::ETCH_ISA
