// q5_1: nibbles, a fifth bit and a minimum.
#pragma once

#include "kernels/formats/plain.h"

namespace etch::ETCH_ISA {

struct q5_1 {
  using Block = blocks::q5_1;
  using Group = activations::Group32;
  static constexpr int kElements = 32, kGroup = 32, kOffset = 0;
  static constexpr bool kMinimum = true;

  static void codes(const Block& b, uint8_t* u) {
    split_nibbles(b.qs, 16, u);
    add_fifth_bits(b.qh, u);
  }
  static float scale(const Block& b) { return half1(b.d); }
  static float minimum(const Block& b) { return half1(b.m); }
};

}  // namespace etch::ETCH_ISA
