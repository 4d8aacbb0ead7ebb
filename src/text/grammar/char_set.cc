#include "text/grammar/char_set.h"

#include <algorithm>

namespace etch {

namespace {

constexpr uint32_t kFirstSurrogate = 0xD800, kLastSurrogate = 0xDFFF;

int encode(uint32_t code, uint8_t* bytes) {
  if (code < 0x80) {
    bytes[0] = static_cast<uint8_t>(code);
    return 1;
  }
  const int n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (int i = n - 1; i > 0; --i, code >>= 6) bytes[i] = static_cast<uint8_t>(0x80 | (code & 0x3F));
  bytes[0] = static_cast<uint8_t>((n == 2 ? 0xC0 : n == 3 ? 0xE0 : 0xF0) | code);
  return n;
}

// Both ends have the same length. Splits where a byte in front differs while those behind do not
// run through all their values.
void split(uint32_t low, uint32_t high, std::vector<Utf8Ranges>& out) {
  Utf8Ranges r;
  uint8_t ends[4];
  r.n = encode(low, r.low);
  encode(high, ends);
  for (int i = 1; i < r.n; ++i) {
    const uint32_t tail = (uint32_t{1} << (6 * i)) - 1;  // what the last i bytes carry
    if ((low & ~tail) == (high & ~tail)) continue;
    if ((low & tail) != 0) {
      split(low, low | tail, out);
      split((low | tail) + 1, high, out);
      return;
    }
    if ((high & tail) != tail) {
      split(low, (high & ~tail) - 1, out);
      split(high & ~tail, high, out);
      return;
    }
  }
  std::copy(ends, ends + r.n, r.high);
  out.push_back(r);
}

}  // namespace

CharSet make_char_set(CharSet ranges) {
  CharSet cut;
  for (CharRange r : ranges) {
    r.high = std::min(r.high, kMaxCodePoint);
    if (r.low > r.high) continue;
    if (r.low < kFirstSurrogate && r.high >= kFirstSurrogate)
      cut.push_back({r.low, kFirstSurrogate - 1});
    if (r.high < kFirstSurrogate || r.low > kLastSurrogate) {
      cut.push_back(r);
    } else if (r.high > kLastSurrogate) {
      cut.push_back({kLastSurrogate + 1, r.high});
    }
  }
  std::sort(cut.begin(), cut.end(), [](CharRange a, CharRange b) { return a.low < b.low; });
  CharSet set;
  for (const CharRange r : cut) {
    if (!set.empty() && r.low <= set.back().high + 1) {
      set.back().high = std::max(set.back().high, r.high);
    } else {
      set.push_back(r);
    }
  }
  return set;
}

CharSet complement(const CharSet& set) {
  CharSet rest;
  uint32_t next = 0;
  for (const CharRange r : set) {
    if (r.low > next) rest.push_back({next, r.low - 1});
    next = r.high + 1;
  }
  if (next <= kMaxCodePoint) rest.push_back({next, kMaxCodePoint});
  return make_char_set(std::move(rest));
}

CharSet intersection(const CharSet& a, const CharSet& b) {
  CharSet both;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const uint32_t low = std::max(a[i].low, b[j].low), high = std::min(a[i].high, b[j].high);
    if (low <= high) both.push_back({low, high});
    a[i].high < b[j].high ? ++i : ++j;
  }
  return both;
}

CharSet all_chars() { return complement({}); }

bool contains(const CharSet& set, uint32_t code) {
  for (const CharRange r : set) {
    if (code <= r.high) return code >= r.low;
  }
  return false;
}

std::vector<Utf8Ranges> utf8_ranges(CharRange range) {
  std::vector<Utf8Ranges> out;
  for (const CharRange r : make_char_set({range})) {
    for (const CharRange length :
         {CharRange{0, 0x7F}, {0x80, 0x7FF}, {0x800, 0xFFFF}, {0x10000, kMaxCodePoint}}) {
      const uint32_t low = std::max(r.low, length.low), high = std::min(r.high, length.high);
      if (low <= high) split(low, high, out);
    }
  }
  return out;
}

}  // namespace etch
