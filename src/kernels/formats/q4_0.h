// q4_0: nibbles, offset 8.
#pragma once

#include "kernels/formats/abreast.h"
#include "kernels/formats/plain.h"

namespace etch::ETCH_ISA {

struct q4_0 {
  using Block = blocks::q4_0;
  using Group = activations::Group32;
  static constexpr int kElements = 32, kGroup = 32, kLargest = 15, kOffset = 8;
  static constexpr bool kMinimum = false;

  static void codes(const Block& b, uint8_t* u) { split_nibbles(b.qs, 16, u); }
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
    unrolled<4>([&](auto i) ETCH_LAMBDA {
      w[i] = low_nibbles(packed[i]);
      w[i + 4] = high_nibbles(packed[i]);
    });
    take(Index<0>{}, w);
  }
#endif
};

}  // namespace etch::ETCH_ISA
