/* Is a file the one a model was printed from? Asked quickly: of its header and a sample of its
 * data. */
#include "etch/model_abi.h"

/* FNV-1a over words of eight bytes; the last, short one is filled up with zeros. */
static uint64_t hash(uint64_t h, const uint8_t* at, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 8) {
    uint64_t word = 0;
    for (int64_t j = 0; j < 8 && i + j < bytes; ++j) word |= (uint64_t)at[i + j] << (8 * j);
    h = (h ^ word) * UINT64_C(0x100000001b3);
    h ^= h >> 32;
  }
  return h;
}

uint64_t etch_sample(const uint8_t* file, int64_t bytes, int64_t header_bytes) {
  enum { PIECES = 64, PIECE = 4096 };
  uint64_t h = hash(UINT64_C(0xcbf29ce484222325), (const uint8_t*)&bytes, (int64_t)sizeof bytes);
  h = hash(h, file, header_bytes < bytes ? header_bytes : bytes);
  for (int64_t i = 0; i < PIECES; ++i) {
    const int64_t first = bytes / PIECES * i;
    h = hash(h, file + first, bytes - first < PIECE ? bytes - first : PIECE);
  }
  return h;
}
