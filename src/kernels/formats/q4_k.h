// q4_k: nibbles, a 6-bit scale and minimum per 32.
#pragma once

#include "kernels/formats/abreast.h"
#include "kernels/formats/plain.h"

namespace etch::ETCH_ISA {

struct q4_k {
  using Block = blocks::q4_k;
  using Group = activations::Group256;
  static constexpr int kElements = 256, kGroup = 32, kLargest = 15, kOffset = 0;
  static constexpr bool kMinimum = true;

  static void codes(const Block& b, uint8_t* u) {
    for (int g = 0; g < 4; ++g) split_nibbles(b.qs + 32 * g, 32, u + 64 * g);
  }
  static float scale(const Block& b) { return half1(b.d); }
  static float minimum(const Block& b) { return half1(b.dmin); }
  static int sub_scale(const Block& b, int g) { return six_bit_scale(b.scales, g); }
  static int sub_minimum(const Block& b, int g) { return six_bit_minimum(b.scales, g); }

#if ETCH_ROWS_ABREAST
  using Header = Header256<kGroup, kMinimum>;
  ETCH_WORD Header header(const uint8_t* b, int64_t stride) { return six_bit_header(b, stride); }
  static constexpr int kUnits = 4;
  static constexpr bool kSignedScales = false;

  // A unit is 32 bytes: two groups.
  static constexpr int unit_group(int u) { return 2 * u; }
  template <class Take>
  ETCH_WORD void unit(const uint8_t* b, int64_t stride, int u, Take take) {
    V packed[8], w[8];
    transpose(b + offsetof(Block, qs) + 32 * u, stride, packed);
    transpose(b + offsetof(Block, qs) + 32 * u + 16, stride, packed + 4);
    unrolled<8>([&](auto i) ETCH_LAMBDA { w[i] = low_nibbles(packed[i]); });
    take(Index<0>{}, w);
    unrolled<8>([&](auto i) ETCH_LAMBDA { w[i] = high_nibbles(packed[i]); });
    take(Index<1>{}, w);
  }
#endif
};

}  // namespace etch::ETCH_ISA
