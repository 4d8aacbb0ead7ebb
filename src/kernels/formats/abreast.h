// What the formats share where rows stand side by side: a vector V holds four bytes of each of
// kLanes rows. A format says, besides its plain half (plain.h):
//
//   Header           the scales of one block of kLanes rows; kept as it is in a panel
//   header(b, s)     read from blocks that begin at b, b + s, b + 2 s, ...
//   kUnits           a block's codes come in so many pieces, unit u beginning with group
//   unit_group(u) unit(b, s, u, t) calls t(Index<g>, w) for each group unit_group(u) + g of unit u;
//   w[i] holds the codes 4 i .. 4 i + 3 kSignedScales    256 elements: what the bytes of
//   Header::scales are
// Units are a loop and groups of a unit are not: all 256 elements in a row would take minutes to
// compile.
#pragma once

#include "dtypes/blocks.h"
#include "kernels/simd/unrolled.h"

#if ETCH_ROWS_ABREAST

namespace etch::ETCH_ISA {

constexpr int kSignBits = static_cast<int>(0x80808080u);

struct Header32 {
  F d;
};
struct Header32WithMinimum {
  F d, m;
};

// Scales and minimums are bytes: byte j of word q belongs to group 4 q + j.
template <int kGroup, bool kMinimum>
struct Header256 {
  V scales[64 / kGroup];
  F d;
};
template <int kGroup>
struct Header256<kGroup, true> {
  V scales[64 / kGroup];
  V minimums[64 / kGroup];
  F d, m;
};

ETCH_WORD V low_nibbles(V v) { return bit_and(v, all(0x0f0f0f0f)); }
ETCH_WORD V high_nibbles(V v) { return bit_and(right<4>(v), all(0x0f0f0f0f)); }

// Four nibbles of 16 bits, or four pairs of 8 bits, to the four bytes of a dword.
ETCH_WORD V spread_nibbles(V v) {
  const V bytes = bit_and(bit_or(v, left<8>(v)), all(0x00ff00ff));
  return low_nibbles(bit_or(bytes, left<4>(bytes)));
}
ETCH_WORD V spread_pairs(V v) {
  const V nibbles = bit_and(bit_or(v, left<12>(v)), all(0x000f000f));
  return bit_and(bit_or(nibbles, left<6>(nibbles)), all(0x03030303));
}

// The integer scale of group g.
template <class Format>
ETCH_WORD V group_scale(const typename Format::Header& h, int g) {
  const V from = right_by(h.scales[g / 4], g % 4 * 8);
  return Format::kSignedScales ? right_signed<24>(left<24>(from)) : bit_and(from, all(0xff));
}

// The head of q4_k and q5_k blocks: d, dmin and 12 bytes of 6-bit scales and minimums (blocks.h),
// all in 16 bytes.
ETCH_WORD Header256<32, true> six_bit_header(const uint8_t* b, int64_t stride) {
  V head[4];
  transpose(b, stride, head);
  Header256<32, true> h;
  h.d = low_halves(head[0]);
  h.m = high_halves(head[0]);
  h.scales[0] = bit_and(head[1], all(0x3f3f3f3f));
  h.minimums[0] = bit_and(head[2], all(0x3f3f3f3f));
  h.scales[1] = bit_or(low_nibbles(head[3]), bit_and(right<2>(head[1]), all(0x30303030)));
  h.minimums[1] = bit_or(high_nibbles(head[3]), bit_and(right<2>(head[2]), all(0x30303030)));
  return h;
}

// The 16 values of iq4_nl and iq4_xs plus 128: codes with offset 128.
static const int8_t kIq4Codes[16] = {
    etch::blocks::kIq4Values[0] + 128,  blocks::kIq4Values[1] + 128,  blocks::kIq4Values[2] + 128,
    etch::blocks::kIq4Values[3] + 128,  blocks::kIq4Values[4] + 128,  blocks::kIq4Values[5] + 128,
    etch::blocks::kIq4Values[6] + 128,  blocks::kIq4Values[7] + 128,  blocks::kIq4Values[8] - 128,
    etch::blocks::kIq4Values[9] - 128,  blocks::kIq4Values[10] - 128, blocks::kIq4Values[11] - 128,
    etch::blocks::kIq4Values[12] - 128, blocks::kIq4Values[13] - 128, blocks::kIq4Values[14] - 128,
    etch::blocks::kIq4Values[15] - 128};

}  // namespace etch::ETCH_ISA

#endif
