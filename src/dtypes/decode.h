// The plain decoder of every element type that has one: decode_q4_0(blocks, out, n) and so on, one
// file a type. float32 arithmetic in the order of the formats' definition (scale times sub-scale,
// times code, minus minimum), each operation rounded on its own. Slow and obvious; kernels have
// their own decoders and are held to these.
#pragma once

#include <cstdint>
#include <cstring>

namespace etch {

#define ETCH_DECODER_plain(enumerator) \
  void decode_##enumerator(const uint8_t* blocks, float* out, int64_t n);
#define ETCH_DECODER_quantised(enumerator) ETCH_DECODER_plain(enumerator)
#define ETCH_DECODER_listed(enumerator)
#define X(enumerator, id, name, elements, bytes, state) ETCH_DECODER_##state(enumerator)
#include "dtypes/dtypes.def"
#undef X
#undef ETCH_DECODER_plain
#undef ETCH_DECODER_quantised
#undef ETCH_DECODER_listed

// Calls decode_block(block, values) for each block of n elements.
template <class Block, int64_t kElements, class DecodeBlock>
void decode_blocks(const uint8_t* bytes, float* out, int64_t n, DecodeBlock decode_block) {
  for (int64_t i = 0; i < n; i += kElements, bytes += sizeof(Block)) {
    Block block;
    std::memcpy(&block, bytes, sizeof(Block));
    decode_block(block, out + i);
  }
}

// Element i of 32 nibbles: the low ones of 16 bytes, then the high ones.
inline int split_nibble(const uint8_t* qs, int i) { return i < 16 ? qs[i] & 15 : qs[i - 16] >> 4; }

// Bit i of 32 bits in 4 bytes.
inline int bit_of(const uint8_t* bits, int i) { return bits[i / 8] >> (i % 8) & 1; }

// Element i of 256 two-bit codes in two halves of 32 bytes (blocks.h).
inline int two_bit_code(const uint8_t* qs, int i) {
  return qs[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
}

// The scale and the minimum of group j of q4_k and q5_k.
struct ScaleAndMinimum {
  int scale, minimum;
};
inline ScaleAndMinimum scale_and_minimum(const uint8_t* s, int j) {
  if (j < 4) return {s[j] & 63, s[j + 4] & 63};
  return {(s[j + 4] & 15) | s[j - 4] >> 6 << 4, s[j + 4] >> 4 | s[j] >> 6 << 4};
}

}  // namespace etch
