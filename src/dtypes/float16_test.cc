#include "dtypes/float16.h"

#include <gtest/gtest.h>

#include <cmath>

namespace etch {
namespace {

// What a half float means, said the long way.
double meaning_of_f16(uint16_t h) {
  const double sign = (h & 0x8000) != 0 ? -1 : 1;
  const int exponent = h >> 10 & 31;
  const int mantissa = h & 1023;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

bool is_f16_nan(uint32_t h) { return (h & 0x7fff) > 0x7c00; }

TEST(Float16, EveryHalfIsWhatItsBitsMean) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const float x = f16_to_f32(static_cast<uint16_t>(h));
    if (is_f16_nan(h)) {
      EXPECT_TRUE(std::isnan(x)) << h;
    } else if ((h & 0x7c00) == 0x7c00) {
      EXPECT_TRUE(std::isinf(x)) << h;
    } else {
      EXPECT_EQ(static_cast<double>(x), meaning_of_f16(static_cast<uint16_t>(h))) << h;
    }
    EXPECT_EQ(std::signbit(x), (h & 0x8000) != 0) << h;
  }
}

TEST(Float16, EveryHalfComesBackFromItsFloat) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const uint32_t expected = is_f16_nan(h) ? h | 0x200 : h;
    EXPECT_EQ(f32_to_f16(f16_to_f32(static_cast<uint16_t>(h))), expected) << h;
  }
}

// Between two neighbouring halves the nearer wins, and of two equally near the one whose last bit
// is 0.
TEST(Float16, NarrowingRoundsToNearestEven) {
  for (uint32_t h = 0; h < 0x7c00; ++h) {
    const double low = meaning_of_f16(static_cast<uint16_t>(h));
    const double high = meaning_of_f16(static_cast<uint16_t>(h + 1));  // 65536 for the largest
    const auto middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(static_cast<double>(middle), (low + high) / 2);
    const uint32_t even = (h & 1) == 0 ? h : h + 1;
    EXPECT_EQ(f32_to_f16(middle), even) << h;
    EXPECT_EQ(f32_to_f16(std::nextafter(middle, 0.0f)), h) << h;
    EXPECT_EQ(f32_to_f16(std::nextafter(middle, 1e9f)), h + 1) << h;
    EXPECT_EQ(f32_to_f16(-middle), even | 0x8000) << h;
  }
}

TEST(Float16, TheExtremesOfFloatsBecomeZeroOrInfinity) {
  EXPECT_EQ(f32_to_f16(0x1p-149f), 0);
  EXPECT_EQ(f32_to_f16(-0x1p-149f), 0x8000);
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0);
  EXPECT_EQ(f32_to_f16(65519.996f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(3e38f), 0x7c00);
  EXPECT_EQ(f32_to_f16(-INFINITY), 0xfc00);
}

TEST(Bfloat16, WidensExactlyAndComesBack) {
  for (uint32_t b = 0; b < 0x10000; ++b) {
    const float x = bf16_to_f32(static_cast<uint16_t>(b));
    const bool nan = (b & 0x7fff) > 0x7f80;
    EXPECT_EQ(std::isnan(x), nan) << b;
    EXPECT_EQ(f32_to_bf16(x), nan ? b | 0x40 : b) << b;
  }
}

TEST(Bfloat16, NarrowingRoundsToNearestEven) {
  const auto from_bits = [](uint32_t bits) { return f32_to_bf16(std::bit_cast<float>(bits)); };
  EXPECT_EQ(from_bits(0x3f808000), 0x3f80);  // tie, even below
  EXPECT_EQ(from_bits(0x3f818000), 0x3f82);  // tie, even above
  EXPECT_EQ(from_bits(0x3f808001), 0x3f81);
  EXPECT_EQ(from_bits(0x3f817fff), 0x3f81);
  EXPECT_EQ(from_bits(0x7f7fffff), 0x7f80);  // overflow
  EXPECT_EQ(from_bits(0x00008001), 0x0001);  // subnormals are kept
  EXPECT_EQ(from_bits(0x7f800001),
            0x7fc0);  // a NaN whose bits are all in the lower half stays a NaN
}

}  // namespace
}  // namespace etch
