// q5_k: nibbles and a fifth bit, a 6-bit scale and minimum per 32.
#pragma once

#include "kernels/formats/abreast.h"
#include "kernels/formats/plain.h"

namespace etch::ETCH_ISA {

struct q5_k {
  using Block = blocks::q5_k;
  using Group = activations::Group256;
  static constexpr int kElements = 256, kGroup = 32, kLargest = 31, kOffset = 0;
  static constexpr bool kMinimum = true;

  static void codes(const Block& b, uint8_t* u) {
    for (int g = 0; g < 4; ++g) split_nibbles(b.qs + 32 * g, 32, u + 64 * g);
    for (int i = 0; i < 256; ++i)
      u[i] = static_cast<uint8_t>(u[i] | (b.qh[i % 32] >> (i / 32) & 1) << 4);
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
    V packed[8], fifth[8], w[8];
    transpose(b + offsetof(Block, qs) + 32 * u, stride, packed);
    transpose(b + offsetof(Block, qs) + 32 * u + 16, stride, packed + 4);
    transpose(b + offsetof(Block, qh), stride, fifth);
    transpose(b + offsetof(Block, qh) + 16, stride, fifth + 4);
    unrolled<8>([&](auto i) ETCH_LAMBDA {
      fifth[i] = right_by(fifth[i], 2 * u);
      w[i] = bit_or(low_nibbles(packed[i]), bit_and(left<4>(fifth[i]), all(0x10101010)));
    });
    take(Index<0>{}, w);
    unrolled<8>([&](auto i) ETCH_LAMBDA {
      w[i] = bit_or(high_nibbles(packed[i]), bit_and(left<3>(fifth[i]), all(0x10101010)));
    });
    take(Index<1>{}, w);
  }
#endif
};

}  // namespace etch::ETCH_ISA
