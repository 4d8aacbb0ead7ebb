// iq4_nl: nibbles that choose among 16 values, offset 128.
#pragma once

#include "kernels/formats/abreast.h"
#include "kernels/formats/plain.h"

namespace etch::ETCH_ISA {

struct iq4_nl {
  using Block = blocks::iq4_nl;
  using Group = activations::Group32;
  static constexpr int kElements = 32, kGroup = 32, kLargest = 241, kOffset = 128;
  static constexpr bool kMinimum = false;

  static void codes(const Block& b, uint8_t* u) {
    split_nibbles(b.qs, 16, u);
    for (int i = 0; i < 32; ++i) u[i] = static_cast<uint8_t>(blocks::kIq4Values[u[i]] + 128);
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
    unrolled<4>([&](auto i) ETCH_LAMBDA {
      w[i] = look_up(kIq4Codes, low_nibbles(packed[i]));
      w[i + 4] = look_up(kIq4Codes, high_nibbles(packed[i]));
    });
    take(Index<0>{}, w);
  }
#endif
};

}  // namespace etch::ETCH_ISA
