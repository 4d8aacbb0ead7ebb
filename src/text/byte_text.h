// The stand-ins of byte-level BPE: every byte is written as one printable character.
//   21..7E A1..AC AE..FF -> the character of that number;  the other 68 in ascending order ->
//   U+0100, U+0101, ... so a space is U+0120, a newline U+010A
#pragma once

#include <array>
#include <cstdint>

namespace etch {

constexpr bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

inline constexpr std::array<uint16_t, 256> kByteToCode = [] {
  std::array<uint16_t, 256> table{};
  uint16_t next = 0x100;
  for (int b = 0; b < 256; ++b) table[b] = stands_for_itself(b) ? static_cast<uint16_t>(b) : next++;
  return table;
}();

// Code point -> byte, -1 for those that stand for none.
inline constexpr std::array<int16_t, 0x144> kCodeToByte = [] {
  std::array<int16_t, 0x144> table{};
  for (int16_t& entry : table) entry = -1;
  for (int b = 0; b < 256; ++b) table[kByteToCode[b]] = static_cast<int16_t>(b);
  return table;
}();

}  // namespace etch
