// Plain encoders for tests: each group's scale from its extreme value, each code the nearest. Good
// enough that a decoded row is close to what went in; no search, no weights. (What a user's file is
// made with lies in quantize/.)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.h"
#include "dtypes/blocks.h"
#include "dtypes/dtype.h"
#include "dtypes/float16.h"

namespace etch::test {
namespace encoding {

inline int nearest(float x, int lo, int hi) {
  return std::clamp(static_cast<int>(std::lrint(x)), lo, hi);
}
inline float inverse(float d) { return d == 0 ? 0 : 1 / d; }

// The value farthest from zero, with its sign.
inline float extreme(std::span<const float> x) {
  float e = 0;
  for (const float v : x) e = std::fabs(v) > std::fabs(e) ? v : e;
  return e;
}

inline int nearest_iq4(float x) {
  int best = 0;
  for (int i = 1; i < 16; ++i) {
    if (std::fabs(x - blocks::kIq4Values[i]) < std::fabs(x - blocks::kIq4Values[best])) best = i;
  }
  return best;
}

// One scale: codes 0 .. -2 * lowest - 1 stand for lowest ..., and the extreme value becomes
// `lowest`.
template <class Code>
void symmetric(std::span<const float> x, int lowest, uint16_t& d, Code code) {
  d = f32_to_f16(extreme(x) / static_cast<float>(lowest));
  const float id = inverse(f16_to_f32(d));
  for (size_t i = 0; i < x.size(); ++i) code(i, nearest(x[i] * id, lowest, -lowest - 1) - lowest);
}

// A scale and a minimum: codes 0 .. highest.
template <class Code>
void from_minimum(std::span<const float> x, int highest, uint16_t& d, uint16_t& m, Code code) {
  const auto [lo, hi] = std::minmax_element(x.begin(), x.end());
  d = f32_to_f16((*hi - *lo) / static_cast<float>(highest));
  m = f32_to_f16(*lo);
  const float id = inverse(f16_to_f32(d));
  for (size_t i = 0; i < x.size(); ++i) code(i, nearest((x[i] - f16_to_f32(m)) * id, 0, highest));
}

// 256 elements in groups under signed integer scales from `lowest` up; `reach` is the most negative
// code.
template <class Scale, class Code>
void grouped(std::span<const float> x, size_t group, int lowest, float reach, uint16_t& d,
             Scale set_scale, Code code) {
  std::vector<float> scales;
  for (size_t g = 0; g < x.size() / group; ++g)
    scales.push_back(extreme(x.subspan(g * group, group)) / reach);
  d = f32_to_f16(extreme(scales) / static_cast<float>(lowest));
  for (size_t g = 0; g < scales.size(); ++g) {
    const int s = nearest(scales[g] * inverse(f16_to_f32(d)), lowest, -lowest - 1);
    set_scale(g, s);
    const float id = inverse(f16_to_f32(d) * static_cast<float>(s));
    for (size_t i = g * group; i < (g + 1) * group; ++i) code(i, x[i] * id);
  }
}

// 256 elements in groups with an unsigned scale and minimum each, 0 .. most; codes 0 .. highest.
template <class Scales, class Code>
void grouped_from_minimum(std::span<const float> x, size_t group, int most, int highest,
                          uint16_t& d, uint16_t& dmin, Scales set_scales, Code code) {
  std::vector<float> scales, minimums;
  for (size_t g = 0; g < x.size() / group; ++g) {
    const auto part = x.subspan(g * group, group);
    const auto [lo, hi] = std::minmax_element(part.begin(), part.end());
    const float floor = std::min(*lo, 0.0f);
    minimums.push_back(-floor);
    scales.push_back((*hi - floor) / static_cast<float>(highest));
  }
  d = f32_to_f16(std::max(0.0f, *std::max_element(scales.begin(), scales.end())) /
                 static_cast<float>(most));
  dmin = f32_to_f16(*std::max_element(minimums.begin(), minimums.end()) / static_cast<float>(most));
  for (size_t g = 0; g < scales.size(); ++g) {
    const int s = nearest(scales[g] * inverse(f16_to_f32(d)), 0, most);
    const int m = nearest(minimums[g] * inverse(f16_to_f32(dmin)), 0, most);
    set_scales(g, s, m);
    const float id = inverse(f16_to_f32(d) * static_cast<float>(s)),
                minimum = f16_to_f32(dmin) * static_cast<float>(m);
    for (size_t i = g * group; i < (g + 1) * group; ++i)
      code(i, nearest((x[i] + minimum) * id, 0, highest));
  }
}

// Places of codes in a zeroed block: the inverse of the drawings in blocks.h.
inline void put(uint8_t& byte, int code, size_t shift) {
  byte = static_cast<uint8_t>(byte | code << shift);
}
inline void put_split_nibble(uint8_t* qs, size_t i, int q) { put(qs[i % 16], q & 15, i / 16 * 4); }
inline void put_bit(uint8_t* bits, size_t i, int bit) { put(bits[i / 8], bit, i % 8); }
inline void put_two_bits(uint8_t* qs, size_t i, int q) {
  put(qs[i / 128 * 32 + i % 32], q & 3, i % 128 / 32 * 2);
}
inline void put_pair_nibble(uint8_t* qs, size_t i, int q) {
  put(qs[i / 64 * 32 + i % 32], q & 15, i / 32 % 2 * 4);
}
inline void put_scale_and_minimum(uint8_t* s, size_t j, int scale, int minimum) {
  if (j < 4) {
    put(s[j], scale, 0);
    put(s[j + 4], minimum, 0);
  } else {
    put(s[j + 4], scale & 15, 0);
    put(s[j + 4], minimum & 15, 4);
    put(s[j - 4], scale >> 4, 6);
    put(s[j], minimum >> 4, 6);
  }
}

using Row = std::span<const float>;

inline void encode(Row x, blocks::q4_0& b) {
  uint16_t d;
  symmetric(x, -8, d, [&](size_t i, int q) { put_split_nibble(b.qs, i, q); });
  b.d = d;
}
inline void encode(Row x, blocks::q4_1& b) {
  uint16_t d, m;
  from_minimum(x, 15, d, m, [&](size_t i, int q) { put_split_nibble(b.qs, i, q); });
  b.d = d, b.m = m;
}
inline void encode(Row x, blocks::q5_0& b) {
  uint16_t d;
  symmetric(x, -16, d,
            [&](size_t i, int q) { put_split_nibble(b.qs, i, q), put_bit(b.qh, i, q >> 4); });
  b.d = d;
}
inline void encode(Row x, blocks::q5_1& b) {
  uint16_t d, m;
  from_minimum(x, 31, d, m,
               [&](size_t i, int q) { put_split_nibble(b.qs, i, q), put_bit(b.qh, i, q >> 4); });
  b.d = d, b.m = m;
}
inline void encode(Row x, blocks::q8_0& b) {
  b.d = f32_to_f16(std::fabs(extreme(x)) / 127);
  for (size_t i = 0; i < 32; ++i)
    b.qs[i] = static_cast<int8_t>(nearest(x[i] * inverse(f16_to_f32(b.d)), -127, 127));
}
inline void encode(Row x, blocks::iq4_nl& b) {
  b.d = f32_to_f16(extreme(x) / -127);
  for (size_t i = 0; i < 32; ++i)
    put_split_nibble(b.qs, i, nearest_iq4(x[i] * inverse(f16_to_f32(b.d))));
}
inline void encode(Row x, blocks::q2_k& b) {
  uint16_t d, dmin;
  grouped_from_minimum(
      x, 16, 15, 3, d, dmin,
      [&](size_t g, int s, int m) { b.scales[g] = static_cast<uint8_t>(s | m << 4); },
      [&](size_t i, int q) { put_two_bits(b.qs, i, q); });
  b.d = d, b.dmin = dmin;
}
inline void encode(Row x, blocks::q3_k& b) {
  uint16_t d;
  const auto set_scale = [&](size_t g, int s) {
    put(b.scales[g % 8], (s + 32) & 15, g / 8 * 4);
    put(b.scales[8 + g % 4], (s + 32) >> 4, g / 4 * 2);
  };
  grouped(x, 16, -32, -4, d, set_scale, [&](size_t i, float v) {
    const int q = nearest(v, -4, 3) + 4;
    put_two_bits(b.qs, i, q);
    put(b.hmask[i % 32], q >> 2, i / 32);
  });
  b.d = d;
}
inline void encode(Row x, blocks::q4_k& b) {
  uint16_t d, dmin;
  grouped_from_minimum(
      x, 32, 63, 15, d, dmin,
      [&](size_t g, int s, int m) { put_scale_and_minimum(b.scales, g, s, m); },
      [&](size_t i, int q) { put_pair_nibble(b.qs, i, q); });
  b.d = d, b.dmin = dmin;
}
inline void encode(Row x, blocks::q5_k& b) {
  uint16_t d, dmin;
  grouped_from_minimum(
      x, 32, 63, 31, d, dmin,
      [&](size_t g, int s, int m) { put_scale_and_minimum(b.scales, g, s, m); },
      [&](size_t i, int q) { put_pair_nibble(b.qs, i, q), put(b.qh[i % 32], q >> 4, i / 32); });
  b.d = d, b.dmin = dmin;
}
inline void encode(Row x, blocks::q6_k& b) {
  uint16_t d;
  const auto set_scale = [&](size_t g, int s) { b.scales[g] = static_cast<int8_t>(s); };
  grouped(x, 16, -128, -32, d, set_scale, [&](size_t i, float v) {
    const int q = nearest(v, -32, 31) + 32;
    const size_t half = i / 128, g = i % 128 / 32, l = i % 32;
    put(b.ql[64 * half + g % 2 * 32 + l], q & 15, g / 2 * 4);
    put(b.qh[32 * half + l], q >> 4, 2 * g);
  });
  b.d = d;
}
inline void encode(Row x, blocks::iq4_xs& b) {
  uint16_t d;
  uint16_t high = 0;
  const auto set_scale = [&](size_t g, int s) {
    put(b.scales_l[g / 2], (s + 32) & 15, g % 2 * 4);
    high = static_cast<uint16_t>(high | (s + 32) >> 4 << (2 * g));
  };
  grouped(x, 32, -32, -127, d, set_scale,
          [&](size_t i, float v) { put_split_nibble(b.qs + i / 32 * 16, i % 32, nearest_iq4(v)); });
  b.d = d, b.scales_h = high;
}

template <class Block>
std::vector<uint8_t> encode_row(Row x, size_t elements) {
  std::vector<uint8_t> out;
  for (size_t i = 0; i < x.size(); i += elements) {
    Block block{};
    encode(x.subspan(i, elements), block);
    const auto* bytes = reinterpret_cast<const uint8_t*>(&block);
    out.insert(out.end(), bytes, bytes + sizeof(Block));
  }
  return out;
}

template <class Number, class Convert>
std::vector<uint8_t> encode_numbers(Row x, Convert convert) {
  std::vector<uint8_t> out(x.size() * sizeof(Number));
  for (size_t i = 0; i < x.size(); ++i) {
    const Number v = convert(x[i]);
    std::memcpy(out.data() + i * sizeof(Number), &v, sizeof(Number));
  }
  return out;
}

}  // namespace encoding

// Rows of whole blocks, finite values.
inline std::vector<uint8_t> encode(DType dtype, std::span<const float> x) {
  using namespace encoding;
  switch (dtype) {
    case DType::f32:
      return encode_numbers<float>(x, [](float v) { return v; });
    case DType::f16:
      return encode_numbers<uint16_t>(x, f32_to_f16);
    case DType::bf16:
      return encode_numbers<uint16_t>(x, f32_to_bf16);
#define ETCH_ENCODED(enumerator, elements) \
  case DType::enumerator:                  \
    return encode_row<blocks::enumerator>(x, elements);
      ETCH_ENCODED(q4_0, 32)
      ETCH_ENCODED(q4_1, 32)
      ETCH_ENCODED(q5_0, 32)
      ETCH_ENCODED(q5_1, 32)
      ETCH_ENCODED(q8_0, 32)
      ETCH_ENCODED(iq4_nl, 32)
      ETCH_ENCODED(q2_k, 256)
      ETCH_ENCODED(q3_k, 256)
      ETCH_ENCODED(q4_k, 256)
      ETCH_ENCODED(q5_k, 256)
      ETCH_ENCODED(q6_k, 256)
      ETCH_ENCODED(iq4_xs, 256)
#undef ETCH_ENCODED
    default:
      ETCH_CHECK(false, "no encoder of {}", name(dtype));
  }
  return {};
}

}  // namespace etch::test
