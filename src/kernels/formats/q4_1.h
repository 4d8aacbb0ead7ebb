// q4_1: nibbles and a minimum.
#pragma once

#include "kernels/formats/abreast.h"
#include "kernels/formats/plain.h"

namespace etch::ETCH_ISA {

struct q4_1 {
  using Block = blocks::q4_1;
  using Group = activations::Group32;
  static constexpr int kElements = 32, kGroup = 32, kLargest = 15, kOffset = 0;
  static constexpr bool kMinimum = true;

  static void codes(const Block& b, uint8_t* u) { split_nibbles(b.qs, 16, u); }
  static float scale(const Block& b) { return half1(b.d); }
  static float minimum(const Block& b) { return half1(b.m); }

#if ETCH_ROWS_ABREAST
  using Header = Header32WithMinimum;
  ETCH_WORD Header header(const uint8_t* b, int64_t stride) {
    const V d_and_m = row_dwords(b, stride);
    Header h;
    h.d = low_halves(d_and_m);
    h.m = high_halves(d_and_m);
    return h;
  }

  static constexpr int kUnits = 1;
  static constexpr int unit_group(int) { return 0; }
  template <class Take>
  ETCH_WORD void unit(const uint8_t* b, int64_t stride, int, Take take) {
    V packed[4], w[8];
    transpose(b + offsetof(Block, qs), stride, packed);
    unrolled<4>([&](auto i) ETCH_LAMBDA {
      w[i] = low_nibbles(packed[i]);
      w[i + 4] = high_nibbles(packed[i]);
    });
    take(Index<0>{}, w);
  }
#endif
};

}  // namespace etch::ETCH_ISA
