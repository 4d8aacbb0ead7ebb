// q2_k: two-bit codes, a 4-bit scale and minimum per 16.
#pragma once

#include "kernels/formats/abreast.h"
#include "kernels/formats/plain.h"

namespace etch::ETCH_ISA {

struct q2_k {
  using Block = blocks::q2_k;
  using Group = activations::Group256;
  static constexpr int kElements = 256, kGroup = 16, kLargest = 3, kOffset = 0;
  static constexpr bool kMinimum = true;

  static void codes(const Block& b, uint8_t* u) {
    for (int i = 0; i < 256; ++i) u[i] = b.qs[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
  }
  static float scale(const Block& b) { return half1(b.d); }
  static float minimum(const Block& b) { return half1(b.dmin); }
  static int sub_scale(const Block& b, int g) { return b.scales[g] & 15; }
  static int sub_minimum(const Block& b, int g) { return b.scales[g] >> 4; }

#if ETCH_ROWS_ABREAST
  using Header = Header256<kGroup, kMinimum>;
  ETCH_WORD Header header(const uint8_t* b, int64_t stride) {
    Header h;
    V scales[4];
    transpose(b + offsetof(Block, scales), stride, scales);
    unrolled<4>([&](auto i) ETCH_LAMBDA {
      h.scales[i] = low_nibbles(scales[i]);
      h.minimums[i] = high_nibbles(scales[i]);
    });
    const V halves = row_dwords(b + offsetof(Block, d), stride);
    h.d = low_halves(halves);
    h.m = high_halves(halves);
    return h;
  }
  static constexpr int kUnits = 4;
  static constexpr bool kSignedScales = false;

  // A unit is half of a half's bytes: 16 bytes, 4 groups.
  static constexpr int unit_group(int u) { return u / 2 * 8 + u % 2; }
  template <class Take>
  ETCH_WORD void unit(const uint8_t* b, int64_t stride, int u, Take take) {
    V packed[4];
    transpose(b + offsetof(Block, qs) + 16 * u, stride, packed);
    unrolled<4>([&](auto s) ETCH_LAMBDA {
      V w[4];
      unrolled<4>([&](auto i)
                      ETCH_LAMBDA { w[i] = bit_and(right<2 * s>(packed[i]), all(0x03030303)); });
      take(Index<2 * s>{}, w);
    });
  }
#endif
};

}  // namespace etch::ETCH_ISA
