#include "dtypes/random_blocks.h"

#include <gtest/gtest.h>

#include <cmath>

namespace etch {

void PrintTo(const DTypeInfo& type, std::ostream* out) { *out << type.name; }

namespace {

class RandomBlocks : public testing::TestWithParam<DTypeInfo> {};

TEST_P(RandomBlocks, StayInsideTheMagnitudeAndAreCentred) {
  const DTypeInfo& type = GetParam();
  const int64_t n = 256 * 64;
  Random random(1);
  const auto blocks = random_blocks(type.dtype, random, 0.5f, n);
  std::vector<float> x(n);
  type.decode(blocks.data(), x.data(), n);
  const bool whole = type.name.starts_with("I") && type.state == DTypeState::plain;
  const float magnitude = whole ? 128.0f : 0.5f;
  double sum = 0, squares = 0;
  for (const float v : x) {
    ASSERT_TRUE(std::isfinite(v));
    ASSERT_LE(std::fabs(v), magnitude * 1.01f);  // half floats round the scale
    sum += v;
    squares += v * v;
  }
  EXPECT_LT(std::fabs(sum / n), 0.02 * magnitude);
  EXPECT_GT(std::sqrt(squares / n), 0.1 * magnitude);
}

TEST_P(RandomBlocks, AreTheSameForTheSameSeed) {
  Random a(7), b(7), c(8);
  const auto first = random_blocks(GetParam().dtype, a, 1, 512);
  EXPECT_EQ(first, random_blocks(GetParam().dtype, b, 1, 512));
  EXPECT_NE(first, random_blocks(GetParam().dtype, c, 1, 512));
}

std::vector<DTypeInfo> decodable() {
  std::vector<DTypeInfo> types;
  for (const DTypeInfo& t : all_dtypes()) {
    if (t.decode != nullptr) types.push_back(t);
  }
  return types;
}

INSTANTIATE_TEST_SUITE_P(EveryType, RandomBlocks, testing::ValuesIn(decodable()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace etch
