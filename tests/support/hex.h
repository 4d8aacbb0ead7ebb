// Bytes written as hexadecimal digits in test vectors.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace etch::test {

inline std::vector<uint8_t> bytes_of_hex(std::string_view digits) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; };
  std::vector<uint8_t> bytes(digits.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(digit(digits[2 * i]) * 16 + digit(digits[2 * i + 1]));
  }
  return bytes;
}

}  // namespace etch::test
