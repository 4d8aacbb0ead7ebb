// text_hash: 64 bits of a short text, fast. Tables in memory only; the value is stored nowhere.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace etch {

inline uint64_t mix_hash(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Eight bytes at a time through a folded 64 x 64 multiplication; the constants are the golden ratio
// and an odd prime pattern, any with well mixed bits do.
inline uint64_t text_hash(std::string_view text, uint64_t seed = 0x9E3779B97F4A7C15u) {
  const char* p = text.data();
  size_t left = text.size();
  uint64_t h = seed ^ left;
  for (; left >= 8; p += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    h = mix_hash(h ^ word, 0xD6E8FEB86659FD93u);
  }
  uint64_t tail = 0;
  if (left >= 4) {  // two overlapping halves cover 4 to 7 bytes
    uint32_t a, b;
    std::memcpy(&a, p, 4);
    std::memcpy(&b, p + left - 4, 4);
    tail = static_cast<uint64_t>(a) << 32 | b;
  } else if (left > 0) {
    tail = static_cast<uint64_t>(static_cast<uint8_t>(p[0])) << 16 |
           static_cast<uint64_t>(static_cast<uint8_t>(p[left / 2])) << 8 |
           static_cast<uint8_t>(p[left - 1]);
  }
  return mix_hash(h ^ tail, 0xA0761D6478BD642Fu);
}

}  // namespace etch
