// CharSet: a set of code points, as ascending ranges that neither overlap nor touch. Surrogates are
// never in one: no UTF-8 text can hold them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace etch {

struct CharRange {
  uint32_t low = 0, high = 0;  // both are in it
  bool operator==(const CharRange&) const = default;
};
using CharSet = std::vector<CharRange>;

inline constexpr uint32_t kMaxCodePoint = 0x10FFFF;

CharSet make_char_set(CharSet ranges);  // from ranges in any order
CharSet complement(const CharSet& set);
CharSet intersection(const CharSet& a, const CharSet& b);
CharSet all_chars();
bool contains(const CharSet& set, uint32_t code);

// [low, high] cut so that each piece is a sequence of byte ranges, every combination of which is
// one of its characters:  U+0800..U+FFFF = [E0][A0-BF][80-BF] | [E1-EC][80-BF][80-BF] | ...
struct Utf8Ranges {
  int n = 0;                // bytes, 1 to 4
  uint8_t low[4], high[4];  // of each byte
};
std::vector<Utf8Ranges> utf8_ranges(CharRange range);

}  // namespace etch
