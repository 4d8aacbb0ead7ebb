// q5_0: nibbles and a fifth bit, offset 16.
#pragma once

#include "kernels/formats/abreast.h"
#include "kernels/formats/plain.h"

namespace etch::ETCH_ISA {

struct q5_0 {
  using Block = blocks::q5_0;
  using Group = activations::Group32;
  static constexpr int kElements = 32, kGroup = 32, kLargest = 31, kOffset = 16;
  static constexpr bool kMinimum = false;

  static void codes(const Block& b, uint8_t* u) {
    split_nibbles(b.qs, 16, u);
    add_fifth_bits(b.qh, u);
  }
  static float scale(const Block& b) { return half1(b.d); }

#if ETCH_ROWS_ABREAST
  using Header = Header32;
  ETCH_WORD Header header(const uint8_t* b, int64_t stride) {
    Header h;
    h.d = low_halves(row_dwords(b, stride));
    return h;
  }

  static constexpr int kUnits = 1;
  static constexpr int unit_group(int) { return 0; }
  template <class Take>
  ETCH_WORD void unit(const uint8_t* b, int64_t stride, int, Take take) {
    V packed[4], w[8];
    transpose(b + offsetof(Block, qs), stride, packed);
    const V fifth = row_dwords(b + offsetof(Block, qh), stride);
    unrolled<4>([&](auto i) ETCH_LAMBDA {
      w[i] = bit_or(low_nibbles(packed[i]), fifth_bits<i>(fifth));
      w[i + 4] = bit_or(high_nibbles(packed[i]), fifth_bits<i + 4>(fifth));
    });
    take(Index<0>{}, w);
  }
#endif
};

}  // namespace etch::ETCH_ISA
