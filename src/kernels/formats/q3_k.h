// q3_k: two-bit codes and a third bit, offset 4, a signed 6-bit scale per 16.
#pragma once

#include "kernels/formats/abreast.h"
#include "kernels/formats/plain.h"

namespace etch::ETCH_ISA {

struct q3_k {
  using Block = blocks::q3_k;
  using Group = activations::Group256;
  static constexpr int kElements = 256, kGroup = 16, kLargest = 7, kOffset = 4;
  static constexpr bool kMinimum = false;

  static void codes(const Block& b, uint8_t* u) {
    for (int i = 0; i < 256; ++i) {
      const int low = b.qs[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
      u[i] = static_cast<uint8_t>(low | (b.hmask[i % 32] >> (i / 32) & 1) << 2);
    }
  }
  static float scale(const Block& b) { return half1(b.d); }
  static int sub_scale(const Block& b, int g) {
    const int low = g < 8 ? b.scales[g] & 15 : b.scales[g - 8] >> 4;
    return (low | (b.scales[8 + g % 4] >> (g / 4 * 2) & 3) << 4) - 32;
  }

#if ETCH_ROWS_ABREAST
  // The scales begin 96 bytes into 110, so 16 bytes from 94 on end with the block: 2 bytes of qs,
  // scales, d.
  using Header = Header256<kGroup, kMinimum>;
  ETCH_WORD Header header(const uint8_t* b, int64_t stride) {
    V tail[4], s[3];
    transpose(b + offsetof(Block, scales) - 2, stride, tail);
    unrolled<3>([&](auto i)
                    ETCH_LAMBDA { s[i] = bit_or(right<16>(tail[i]), left<16>(tail[i + 1])); });
    Header h;
    h.d = high_halves(tail[3]);
    const V low[4] = {low_nibbles(s[0]), low_nibbles(s[1]), high_nibbles(s[0]), high_nibbles(s[1])};
    unrolled<4>([&](auto i) ETCH_LAMBDA {
      const V high = left<4>(bit_and(right<2 * i>(s[2]), all(0x03030303)));
      h.scales[i] = sub8(bit_or(low[i], high), all(0x20202020));
    });
    return h;
  }
  static constexpr int kUnits = 4;
  static constexpr bool kSignedScales = true;

  // A unit is half of a half's bytes: 16 bytes, 4 groups.
  static constexpr int unit_group(int u) { return u / 2 * 8 + u % 2; }
  template <class Take>
  ETCH_WORD void unit(const uint8_t* b, int64_t stride, int u, Take take) {
    V packed[4], third[4];
    transpose(b + offsetof(Block, qs) + 16 * u, stride, packed);
    transpose(b + offsetof(Block, hmask) + u % 2 * 16, stride, third);
    unrolled<4>([&](auto i) ETCH_LAMBDA { third[i] = right_by(third[i], u / 2 * 4); });
    unrolled<4>([&](auto s) ETCH_LAMBDA {
      V w[4];
      unrolled<4>([&](auto i) ETCH_LAMBDA {
        V high = third[i];  // bit s of each byte goes to bit 2
        if constexpr (s < 2) high = left<2 - s>(high);
        if constexpr (s == 3) high = right<1>(high);
        w[i] = bit_or(bit_and(right<2 * s>(packed[i]), all(0x03030303)),
                      bit_and(high, all(0x04040404)));
      });
      take(Index<2 * s>{}, w);
    });
  }
#endif
};

}  // namespace etch::ETCH_ISA
