// The functions of math.h against double precision: the largest distance over dense sweeps, in
// units in the last place of the true value. Other instruction sets are held to the same bits by
// elementwise_test.cc.
#include "kernels/math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "kernels/simd/scalar_float.h"

namespace etch {
namespace {

using W = scalar_float;
using Vector = W::f;

double ulp(double x) {
  const float nearest = static_cast<float>(std::fabs(x));
  if (nearest < 0x1p-126f) return 0x1p-149;
  return std::ldexp(1.0, std::ilogb(nearest) - 23);
}

struct Worst {
  double distance = 0;
  float at = 0;
};

// Every float between lo and hi that is `step` bit patterns from the last one; at least a million
// of them.
Worst sweep(const std::function<Vector(Vector)>& f, const std::function<double(double)>& truth,
            float lo, float hi, double floor = 0) {
  Worst worst;
  const auto measure = [&](const Vector& x) {
    const Vector y = f(x);
    for (int k = 0; k < 16; ++k) {
      const double t = truth(x.at[k]);
      const double d = std::fabs(y.at[k] - t) / std::max(ulp(t), floor);
      if (!(d <= worst.distance)) worst = {d, x.at[k]};
    }
  };
  // Half of the samples evenly over the line, half evenly over the bit patterns.
  constexpr int kWords = 1 << 15;
  for (int i = 0; i < kWords; ++i) {
    Vector x;
    for (int k = 0; k < 16; ++k)
      x.at[k] = std::clamp(
          static_cast<float>(lo + (double{hi} - lo) * (i * 16 + k) / (kWords * 16 - 1)), lo, hi);
    measure(x);
  }
  const auto ordered = [](float x) {
    const int32_t b = std::bit_cast<int32_t>(x);
    return b < 0 ? int64_t{INT32_MIN} - b : int64_t{b};
  };
  const auto from_order = [](int64_t o) {
    return std::bit_cast<float>(static_cast<int32_t>(o < 0 ? int64_t{INT32_MIN} - o : o));
  };
  const int64_t first = ordered(lo), last = ordered(hi);
  for (int i = 0; i < kWords; ++i) {
    Vector x;
    for (int k = 0; k < 16; ++k)
      x.at[k] = from_order(first + static_cast<int64_t>((static_cast<double>(last) - first) *
                                                        (i * 16 + k) / (kWords * 16 - 1)));
    measure(x);
  }
  return worst;
}

#define EXPECT_WITHIN(bound, ...)                                             \
  do {                                                                        \
    const Worst w = __VA_ARGS__;                                              \
    RecordProperty("worst", std::to_string(w.distance));                      \
    std::printf("%-60.60s %.3f ulp at %a\n", #__VA_ARGS__, w.distance, w.at); \
    EXPECT_LE(w.distance, bound) << "at " << w.at;                            \
  } while (false)

constexpr float kInf = std::numeric_limits<float>::infinity();
float one(Vector (*f)(Vector), float x) { return f(W::set(x)).at[3]; }

TEST(Math, ExpIsCloseAndExactAtZero) {
  EXPECT_WITHIN(1.5, sweep(
                         exp<W>, [](double x) { return std::exp(x); }, -87.0f, 88.72283f));
  EXPECT_EQ(one(exp<W>, 0.0f), 1.0f);
  EXPECT_EQ(one(exp<W>, -0.0f), 1.0f);
  const float below = one(exp<W>, std::nextafter(-87.0f, -kInf));
  EXPECT_EQ(std::bit_cast<uint32_t>(below), 0u);
  EXPECT_GT(one(exp<W>, -87.0f), 1e-38f);
  EXPECT_EQ(one(exp<W>, -kInf), 0.0f);
  EXPECT_EQ(one(exp<W>, -3e38f), 0.0f);
  EXPECT_EQ(one(exp<W>, 88.73f), kInf);
  EXPECT_EQ(one(exp<W>, 3e38f), kInf);
  EXPECT_EQ(one(exp<W>, kInf), kInf);
  EXPECT_TRUE(std::isnan(one(exp<W>, NAN)));
}

TEST(Math, LnIsCloseFromTheSmallestSubnormalOn) {
  EXPECT_WITHIN(1.5, sweep(
                         ln<W>, [](double x) { return std::log(x); }, 0x1p-149f, 0x1.fffffep127f));
  EXPECT_WITHIN(1.5, sweep(
                         ln<W>, [](double x) { return std::log(x); }, 0.5f, 2.0f));
  EXPECT_EQ(one(ln<W>, 1.0f), 0.0f);
  EXPECT_EQ(one(ln<W>, 0.0f), -kInf);
  EXPECT_EQ(one(ln<W>, -0.0f), -kInf);
  EXPECT_EQ(one(ln<W>, kInf), kInf);
  EXPECT_TRUE(std::isnan(one(ln<W>, -1.0f)));
  EXPECT_TRUE(std::isnan(one(ln<W>, -kInf)));
  EXPECT_TRUE(std::isnan(one(ln<W>, NAN)));
}

TEST(Math, ErfTanhSigmoid) {
  EXPECT_WITHIN(1.5, sweep(
                         erf<W>, [](double x) { return std::erf(x); }, -5.0f, 5.0f));
  EXPECT_WITHIN(2.5, sweep(
                         tanh<W>, [](double x) { return std::tanh(x); }, -12.0f, 12.0f));
  EXPECT_WITHIN(2.5,
                sweep(
                    sigmoid<W>, [](double x) { return 1 / (1 + std::exp(-x)); }, -86.9f, 50.0f));
  for (const float x : {0.0f, -0.0f}) {
    EXPECT_EQ(std::bit_cast<uint32_t>(one(erf<W>, x)), std::bit_cast<uint32_t>(x));
    EXPECT_EQ(std::bit_cast<uint32_t>(one(tanh<W>, x)), std::bit_cast<uint32_t>(x));
  }
  EXPECT_EQ(one(erf<W>, kInf), 1.0f);
  EXPECT_EQ(one(erf<W>, -kInf), -1.0f);
  EXPECT_EQ(one(tanh<W>, kInf), 1.0f);
  EXPECT_EQ(one(tanh<W>, -kInf), -1.0f);
  EXPECT_EQ(one(sigmoid<W>, 0.0f), 0.5f);
  EXPECT_EQ(one(sigmoid<W>, kInf), 1.0f);
  EXPECT_EQ(one(sigmoid<W>, -kInf), 0.0f);
  for (const auto f :
       {erf<W>, tanh<W>, sigmoid<W>, softplus<W>, silu<W>, gelu<W>, gelu_tanh<W>, relu<W>})
    EXPECT_TRUE(std::isnan(one(f, NAN)));
}

TEST(Math, ActivationsStayNearTheirDefinitions) {
  const auto silu_of = [](double x) { return x / (1 + std::exp(-x)); };
  EXPECT_WITHIN(3.0, sweep(silu<W>, silu_of, -86.0f, 100.0f));
  // 1 + erf loses the last places below -1: there the bound is absolute, ulps of 1.
  const auto gelu_of = [](double x) { return 0.5 * x * std::erfc(-x * M_SQRT1_2); };
  EXPECT_WITHIN(2.5, sweep(gelu<W>, gelu_of, -0.5f, 30.0f));
  EXPECT_WITHIN(2.0, sweep(gelu<W>, gelu_of, -10.0f, 0.0f, 0x1p-23));
  const auto gelu_tanh_of = [](double x) {
    return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  };
  EXPECT_WITHIN(3.0, sweep(gelu_tanh<W>, gelu_tanh_of, -1.0f, 30.0f));
  EXPECT_WITHIN(0.5, sweep(gelu_tanh<W>, gelu_tanh_of, -10.0f, -1.0f, 0x1p-23));
  const auto softplus_of = [](double x) { return x > 20 ? x : std::log1p(std::exp(x)); };
  EXPECT_WITHIN(2.5, sweep(softplus<W>, softplus_of, -86.0f, 40.0f));
  EXPECT_EQ(one(relu<W>, -2.0f), 0.0f);
  EXPECT_EQ(one(relu<W>, 2.5f), 2.5f);
  EXPECT_EQ(activate<W>(ETCH_ACT_NONE, W::set(-3.0f)).at[0], -3.0f);
}

TEST(Math, SineAndCosineOfPositionsUpToMillions) {
  const auto sine = [](Vector x) {
    Vector s, c;
    sin_cos<W>(x, s, c);
    return s;
  };
  const auto cosine = [](Vector x) {
    Vector s, c;
    sin_cos<W>(x, s, c);
    return c;
  };
  const auto sin_of = [](double x) { return std::sin(x); };
  const auto cos_of = [](double x) { return std::cos(x); };
  EXPECT_WITHIN(1.5, sweep(sine, sin_of, -4.0f, 4.0f));
  EXPECT_WITHIN(1.5, sweep(cosine, cos_of, -1.5f, 1.5f));
  // Near the zeros of a far turn what counts is the absolute distance: ulps of 1/2 (2^-24) here.
  EXPECT_WITHIN(1.75, sweep(sine, sin_of, -16777216.0f, 16777216.0f, 0x1p-24));
  EXPECT_WITHIN(1.75, sweep(cosine, cos_of, -16777216.0f, 16777216.0f, 0x1p-24));
  EXPECT_EQ(one(sine, 0.0f), 0.0f);
  EXPECT_EQ(one(cosine, 0.0f), 1.0f);
  for (const float x : {1e9f, -3e10f, 1e30f}) EXPECT_LE(std::fabs(one(sine, x)), 1.0f);
}

}  // namespace
}  // namespace etch
