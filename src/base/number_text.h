// Numbers as people read them.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string>

namespace etch {

// 4920734176 as 4,920,734,176, in every locale.
inline std::string with_commas(int64_t n) {
  std::string digits = fmt::format("{}", n);
  const int first = n < 0 ? 1 : 0;
  for (int i = static_cast<int>(digits.size()) - 3; i > first; i -= 3) digits.insert(i, ",");
  return digits;
}

}  // namespace etch
