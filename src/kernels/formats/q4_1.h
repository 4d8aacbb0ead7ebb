// q4_1: nibbles and a minimum.
#pragma once

#include "kernels/formats/plain.h"

namespace etch::ETCH_ISA {

struct q4_1 {
  using Block = blocks::q4_1;
  using Group = activations::Group32;
  static constexpr int kElements = 32, kGroup = 32, kOffset = 0;
  static constexpr bool kMinimum = true;

  static void codes(const Block& b, uint8_t* u) { split_nibbles(b.qs, 16, u); }
  static float scale(const Block& b) { return half1(b.d); }
  static float minimum(const Block& b) { return half1(b.m); }
};

}  // namespace etch::ETCH_ISA
