// Norms, softmax and sum: against double precision, against the 16 partial sums written out, and
// every instruction set and thread count against the others with ==.
#include <gtest/gtest.h>

#include <cmath>

#include "support/kernel_run.h"

namespace etch {
namespace {

using test::How;

constexpr int64_t kSizes[] = {1, 2, 5, 15, 16, 17, 31, 32, 33, 64, 100, 576, 2048, 2051};
constexpr float kEps = 1e-5f;

// The reduction of arithmetic.md section 3, as it is written there.
float reduce(std::vector<float> p) {
  for (int n = 8; n > 0; n /= 2)
    for (int i = 0; i < n; ++i) p[i] += p[i + n];
  return p[0] + 0.0f;
}
float sum_of_squares(const std::vector<float>& x) {
  std::vector<float> p(16);
  for (size_t k = 0; k < x.size(); ++k) p[k % 16] = std::fma(x[k], x[k], p[k % 16]);
  return reduce(p);
}
float plain_sum(const std::vector<float>& x) {
  std::vector<float> p(16);
  for (size_t k = 0; k < x.size(); ++k) p[k % 16] += x[k];
  return reduce(p);
}

struct Row {
  std::vector<float> x, weight, bias;
  int64_t d() const { return static_cast<int64_t>(x.size()); }
};

// What must come out, to the bit; of softmax no more than its definition in double.
std::vector<float> expected_bits(std::string_view kernel, const Row& r) {
  std::vector<float> y = r.x;
  const float d = static_cast<float>(r.d());
  if (kernel == "sum") return {plain_sum(r.x)};
  if (kernel == "rmsnorm") {
    const float factor = 1 / std::sqrt(sum_of_squares(r.x) / d + kEps);
    for (size_t k = 0; k < y.size(); ++k) y[k] = y[k] * factor * r.weight[k];
  } else if (kernel == "l2norm") {
    const float factor = 1 / std::sqrt(sum_of_squares(r.x) + kEps);
    for (float& v : y) v *= factor;
  } else if (kernel == "layernorm") {
    const float mean = plain_sum(r.x) / d;
    for (float& v : y) v -= mean;
    const float factor = 1 / std::sqrt(sum_of_squares(y) / d + kEps);
    for (size_t k = 0; k < y.size(); ++k) y[k] = y[k] * factor * r.weight[k] + r.bias[k];
  }
  return y;
}

std::vector<double> truth(std::string_view kernel, const Row& r) {
  const double d = static_cast<double>(r.d());
  double sum = 0, squares = 0, centred = 0, exps = 0, top = -INFINITY;
  for (const float v : r.x) sum += v, squares += double{v} * v, top = std::max(top, double{v});
  for (const float v : r.x) centred += (v - sum / d) * (v - sum / d), exps += std::exp(v - top);
  if (kernel == "sum") return {sum};
  std::vector<double> y;
  for (size_t k = 0; k < r.x.size(); ++k) {
    const double x = r.x[k];
    if (kernel == "rmsnorm") y.push_back(x / std::sqrt(squares / d + kEps) * r.weight[k]);
    if (kernel == "l2norm") y.push_back(x / std::sqrt(squares + kEps));
    if (kernel == "layernorm")
      y.push_back((x - sum / d) / std::sqrt(centred / d + kEps) * r.weight[k] + r.bias[k]);
    if (kernel == "softmax") y.push_back(std::exp(x - top) / exps);
  }
  return y;
}

class Norms : public testing::TestWithParam<const char*> {};

TEST_P(Norms, AreTheirDefinitionsOnEverySize) {
  const std::string kernel = GetParam();
  const test::Step step({{0, 0, 1}});
  for (const int64_t d : kSizes) {
    Row r{test::random_floats(d, 1, 3), test::random_floats(d, 2), test::random_floats(d, 3)};
    etch_norm a{};
    std::vector<float> y(kernel == "sum" ? 1 : static_cast<size_t>(d));
    a.x = test::view_of(r.x, d);
    a.y = test::view_of(y, d);
    a.weight = r.weight.data();
    a.bias = r.bias.data();
    a.d = d;
    a.eps = kEps;
    a.rows = {ETCH_TOKENS, 1};
    std::vector<float> scalar;
    for (const etch_isa isa : test::usable_isas()) {
      test::run_kernel(kernel, a, step.abi, {isa, 1});
      if (kernel != "softmax") {
        EXPECT_TRUE(test::same_bits(y, expected_bits(kernel, r))) << d << " " << isa_name(isa);
      }
      if (isa == ETCH_SCALAR) scalar = y;
      EXPECT_TRUE(test::same_bits(y, scalar)) << d << " " << isa_name(isa);
    }
    EXPECT_LE(test::worst_error(scalar, truth(kernel, r), 0.25), 1e-6) << d;
  }
}

// Rows of heads with strides between them, weights of their own, in place, over several threads.
TEST_P(Norms, TakeStridesWeightsPerHeadAndWorkInPlace) {
  const std::string kernel = GetParam();
  constexpr int64_t kHeads = 3, kD = 21, kTokens = 5, kInner = 24, kRow = 80;
  const test::Step step({{0, 0, kTokens}});
  const std::vector<float> x = test::random_floats(kTokens * kRow, 4);
  std::vector<float> weight = test::random_floats(kHeads * 30, 5),
                     bias = test::random_floats(kHeads * 30, 6);
  for (const etch_isa isa : test::usable_isas()) {
    for (const int32_t threads : {1, 3}) {
      std::vector<float> y = x;
      etch_norm a{};
      a.x = a.y = test::view_of(y, kRow, kInner);
      a.weight = weight.data();
      a.bias = bias.data();
      a.weight_stride = 4 * 30;
      a.d = kD;
      a.eps = kEps;
      a.rows = {ETCH_TOKENS, kHeads};
      test::run_kernel(kernel, a, step.abi, {isa, threads});
      std::vector<float> expected = x;
      for (int64_t t = 0; t < kTokens; ++t)
        for (int64_t h = 0; h < kHeads; ++h) {
          const auto at = [&](const std::vector<float>& v, int64_t i) {
            return std::vector<float>(v.begin() + i, v.begin() + i + kD);
          };
          const Row r{at(x, t * kRow + h * kInner), at(weight, h * 30), at(bias, h * 30)};
          std::vector<float> row = expected_bits(kernel, r);
          if (kernel == "softmax") {
            row = at(y, t * kRow + h * kInner);
            EXPECT_LE(test::worst_error(row, truth(kernel, r), 0.25), 1e-6);
          }
          std::copy(row.begin(), row.end(), expected.begin() + t * kRow + h * kInner);
        }
      EXPECT_TRUE(test::same_bits(y, expected)) << test::describe({isa, threads});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Norms,
                         testing::Values("rmsnorm", "layernorm", "l2norm", "softmax", "sum"),
                         [](const auto& info) { return std::string(info.param); });

TEST(NormKernels, RmsnormWithoutWeightsIsMultipliedByTheFactorAlone) {
  const test::Step step({{0, 0, 1}});
  std::vector<float> x = {3, 4}, y(2);
  etch_norm a{};
  a.x = test::view_of(x, 2);
  a.y = test::view_of(y, 2);
  a.d = 2;
  a.rows = {ETCH_TOKENS, 1};
  test::run_kernel("rmsnorm", a, step.abi, {});
  EXPECT_FLOAT_EQ(y[0], 3 / std::sqrt(12.5f));
}

TEST(NormKernels, SoftmaxLeavesOutWhatIsMinusInfinity) {
  const test::Step step({{0, 0, 1}});
  for (const etch_isa isa : test::usable_isas()) {
    std::vector<float> x(19, -INFINITY), y(19);
    x[18] = -3;
    etch_norm a{};
    a.x = test::view_of(x, 19);
    a.y = test::view_of(y, 19);
    a.d = 19;
    a.rows = {ETCH_TOKENS, 1};
    test::run_kernel("softmax", a, step.abi, {isa, 1});
    for (size_t k = 0; k < 18; ++k) EXPECT_EQ(y[k], 0.0f);
    EXPECT_EQ(y[18], 1.0f);
  }
}

}  // namespace
}  // namespace etch
