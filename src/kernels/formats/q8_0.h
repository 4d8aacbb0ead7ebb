// q8_0: bytes, offset 128 once their sign bit is turned.
#pragma once

#include "kernels/formats/abreast.h"
#include "kernels/formats/plain.h"

namespace etch::ETCH_ISA {

struct q8_0 {
  using Block = blocks::q8_0;
  using Group = activations::Group32;
  static constexpr int kElements = 32, kGroup = 32, kLargest = 255, kOffset = 128;
  static constexpr bool kMinimum = false;

  static void codes(const Block& b, uint8_t* u) {
    for (int i = 0; i < 32; ++i) u[i] = static_cast<uint8_t>(b.qs[i] + 128);
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
    V w[8];
    transpose(b + offsetof(Block, qs), stride, w);
    transpose(b + offsetof(Block, qs) + 16, stride, w + 4);
    unrolled<8>([&](auto i) ETCH_LAMBDA { w[i] = bit_xor(w[i], all(kSignBits)); });
    take(Index<0>{}, w);
  }
#endif
};

}  // namespace etch::ETCH_ISA
