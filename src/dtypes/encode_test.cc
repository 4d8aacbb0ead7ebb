// The encoders of tests/support, held to the decoders: a wrong place of a code would show here
// first.
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "support/encode.h"

namespace etch {
namespace {

// Relative error of a Gaussian row. The reference's encoders, which search, reach about three
// quarters of it.
struct Bound {
  DType dtype;
  double error;
};
constexpr Bound kBounds[] = {
    {DType::f32, 0},       {DType::f16, 3e-4},  {DType::bf16, 3e-3}, {DType::q8_0, 0.008},
    {DType::q6_k, 0.03},   {DType::q5_0, 0.06}, {DType::q5_1, 0.05}, {DType::q5_k, 0.06},
    {DType::q4_0, 0.12},   {DType::q4_1, 0.10}, {DType::q4_k, 0.12}, {DType::iq4_nl, 0.10},
    {DType::iq4_xs, 0.10}, {DType::q3_k, 0.23}, {DType::q2_k, 0.45},
};

TEST(Encode, ADecodedRowIsCloseToWhatWentIn) {
  Random random(3);
  std::vector<float> x(256 * 16);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = random.normal() * (1 + static_cast<float>(i / 32 % 8));
  for (const auto& [dtype, bound] : kBounds) {
    const auto blocks = test::encode(dtype, x);
    ASSERT_EQ(static_cast<int64_t>(blocks.size()),
              row_bytes(dtype, static_cast<int64_t>(x.size())));
    std::vector<float> y(x.size());
    info(dtype).decode(blocks.data(), y.data(), static_cast<int64_t>(y.size()));
    double error = 0, square = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      error += (y[i] - x[i]) * (y[i] - x[i]);
      square += x[i] * x[i];
    }
    EXPECT_LE(std::sqrt(error / square), bound) << name(dtype);
  }
}

TEST(Encode, ZerosStayZeros) {
  const std::vector<float> zeros(256, 0.0f);
  for (const auto& [dtype, bound] : kBounds) {
    const auto blocks = test::encode(dtype, zeros);
    std::vector<float> y(256, 1.0f);
    info(dtype).decode(blocks.data(), y.data(), 256);
    for (const float v : y) ASSERT_EQ(v, 0.0f) << name(dtype);
  }
}

TEST(Encode, EveryKernelsTypeHasOne) {
  for (const DTypeInfo& t : all_dtypes()) {
    if (t.state != DTypeState::quantised) continue;
    EXPECT_NE(std::find_if(std::begin(kBounds), std::end(kBounds),
                           [&](const Bound& b) { return b.dtype == t.dtype; }),
              std::end(kBounds))
        << t.name;
  }
}

}  // namespace
}  // namespace etch
