// q6_k: six-bit codes, offset 32, a signed byte as scale per 16.
#pragma once

#include "kernels/formats/abreast.h"
#include "kernels/formats/plain.h"

namespace etch::ETCH_ISA {

struct q6_k {
  using Block = blocks::q6_k;
  using Group = activations::Group256;
  static constexpr int kElements = 256, kGroup = 16, kLargest = 63, kOffset = 32;
  static constexpr bool kMinimum = false;

  static void codes(const Block& b, uint8_t* u) {
    for (int i = 0; i < 256; ++i) {
      const int half = i / 128, g = i % 128 / 32, l = i % 32;
      const int low = b.ql[64 * half + 32 * (g % 2) + l] >> (g / 2 * 4) & 15;
      u[i] = static_cast<uint8_t>(low | (b.qh[32 * half + l] >> (2 * g) & 3) << 4);
    }
  }
  static float scale(const Block& b) { return half1(b.d); }
  static int sub_scale(const Block& b, int g) { return b.scales[g]; }

#if ETCH_ROWS_ABREAST
  using Header = Header256<kGroup, kMinimum>;
  ETCH_WORD Header header(const uint8_t* b, int64_t stride) {
    Header h;
    transpose(b + offsetof(Block, scales), stride, h.scales);
    h.d = high_halves(row_dwords(b + offsetof(Block, d) - 2, stride));
    return h;
  }
  static constexpr int kUnits = 4;
  static constexpr bool kSignedScales = true;

  // A unit is half of a half's bytes: 16 of qh and twice 16 of ql, 4 groups.
  static constexpr int unit_group(int u) { return u / 2 * 8 + u % 2; }
  template <class Take>
  ETCH_WORD void unit(const uint8_t* b, int64_t stride, int u, Take take) {
    V high[4], low[2][4];
    const int ql = u / 2 * 64 + u % 2 * 16;
    transpose(b + offsetof(Block, qh) + 16 * u, stride, high);
    transpose(b + offsetof(Block, ql) + ql, stride, low[0]);
    transpose(b + offsetof(Block, ql) + ql + 32, stride, low[1]);
    unrolled<4>([&](auto g) ETCH_LAMBDA {
      V w[4];
      unrolled<4>([&](auto i) ETCH_LAMBDA {
        V two = high[i];  // bits 2 g and 2 g + 1 of each byte go to bits 4 and 5
        if constexpr (g < 2) two = left<4 - 2 * g>(two);
        if constexpr (g == 3) two = right<2>(two);
        const V four = g < 2 ? low_nibbles(low[g % 2][i]) : high_nibbles(low[g % 2][i]);
        w[i] = bit_or(four, bit_and(two, all(0x30303030)));
      });
      take(Index<2 * g>{}, w);
    });
  }
#endif
};

}  // namespace etch::ETCH_ISA
