// iq4_xs: nibbles that choose among 16 values, offset 128, a signed 6-bit scale per 32.
#pragma once

#include "kernels/formats/abreast.h"
#include "kernels/formats/plain.h"

namespace etch::ETCH_ISA {

struct iq4_xs {
  using Block = blocks::iq4_xs;
  using Group = activations::Group256;
  static constexpr int kElements = 256, kGroup = 32, kLargest = 241, kOffset = 128;
  static constexpr bool kMinimum = false;

  static void codes(const Block& b, uint8_t* u) {
    for (int g = 0; g < 8; ++g) split_nibbles(b.qs + 16 * g, 16, u + 32 * g);
    for (int i = 0; i < 256; ++i) u[i] = static_cast<uint8_t>(blocks::kIq4Values[u[i]] + 128);
  }
  static float scale(const Block& b) { return half1(b.d); }
  static int sub_scale(const Block& b, int g) {
    const int low = b.scales_l[g / 2] >> (g % 2 * 4) & 15;
    return (low | (b.scales_h >> (2 * g) & 3) << 4) - 32;
  }

#if ETCH_ROWS_ABREAST
  using Header = Header256<kGroup, kMinimum>;
  ETCH_WORD Header header(const uint8_t* b, int64_t stride) {
    V head[4];
    transpose(b, stride, head);
    Header h;
    h.d = low_halves(head[0]);
    const V low = head[1], high = right<16>(head[0]);
    const V four[2] = {bit_and(low, all(0xffff)), right<16>(low)};
    const V two[2] = {bit_and(high, all(0xff)), right<8>(high)};
    unrolled<2>([&](auto i) ETCH_LAMBDA {
      const V scales = bit_or(spread_nibbles(four[i]), left<4>(spread_pairs(two[i])));
      h.scales[i] = sub8(scales, all(0x20202020));
    });
    return h;
  }

  static constexpr int kUnits = 8;
  static constexpr bool kSignedScales = true;

  static constexpr int unit_group(int u) { return u; }
  template <class Take>
  ETCH_WORD void unit(const uint8_t* b, int64_t stride, int u, Take take) {
    V packed[4], w[8];
    transpose(b + offsetof(Block, qs) + 16 * u, stride, packed);
    unrolled<4>([&](auto i) ETCH_LAMBDA {
      w[i] = look_up(kIq4Codes, low_nibbles(packed[i]));
      w[i + 4] = look_up(kIq4Codes, high_nibbles(packed[i]));
    });
    take(Index<0>{}, w);
  }
#endif
};

}  // namespace etch::ETCH_ISA
