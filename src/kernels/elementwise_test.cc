// Every elementwise operation against double precision, on every instruction set with ==, over
// strides of all kinds.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>

#include "support/kernel_run.h"

namespace etch {
namespace {

using test::How;

struct Operation {
  etch_elementwise_op op;
  const char* name;
  std::function<double(double, double)> truth;
  double error = 0;  // relative to max(|truth|, 1); 0: to the bit
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double gelu(double x) { return x / 2 * std::erfc(-x * M_SQRT1_2); }
double gelu_tanh(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
double relu(double x) { return x > 0 ? x : 0; }
// 1 + erf(x / sqrt 2) cancels below -1: its error is 2^-24 of 1, times x / 2, times b.
constexpr double kCancels = 1.5e-6;
constexpr double kClose = 5e-7, kLo = -0.75f, kHi = 1.5f;

const Operation kOperations[] = {
    {ETCH_EW_ADD, "add", [](double a, double b) { return static_cast<float>(a + b); }},
    {ETCH_EW_SUB, "sub", [](double a, double b) { return static_cast<float>(a - b); }},
    {ETCH_EW_MUL, "mul", [](double a, double b) { return static_cast<float>(a * b); }},
    {ETCH_EW_DIV, "div",
     [](double a, double b) {
       return static_cast<float>(static_cast<float>(a) / static_cast<float>(b));
     }},
    {ETCH_EW_MOD, "mod", [](double a, double b) { return a - b * std::floor(a / b); }, 1e-5},
    {ETCH_EW_SILU_MUL, "silu_mul", [](double a, double b) { return a * sigmoid(a) * b; }, kClose},
    {ETCH_EW_GELU_MUL, "gelu_mul", [](double a, double b) { return gelu(a) * b; }, kCancels},
    {ETCH_EW_GELU_TANH_MUL, "gelu_tanh_mul", [](double a, double b) { return gelu_tanh(a) * b; },
     kClose},
    {ETCH_EW_RELU_MUL, "relu_mul",
     [](double a, double b) { return static_cast<float>(relu(a) * b); }},
    {ETCH_EW_SILU, "silu", [](double a, double) { return a * sigmoid(a); }, kClose},
    {ETCH_EW_GELU, "gelu", [](double a, double) { return gelu(a); }, kClose},
    {ETCH_EW_GELU_TANH, "gelu_tanh", [](double a, double) { return gelu_tanh(a); }, kClose},
    {ETCH_EW_RELU, "relu", [](double a, double) { return relu(a); }},
    {ETCH_EW_SIGMOID, "sigmoid", [](double a, double) { return sigmoid(a); }, kClose},
    {ETCH_EW_TANH, "tanh", [](double a, double) { return std::tanh(a); }, kClose},
    {ETCH_EW_EXP, "exp", [](double a, double) { return std::exp(a); }, kClose},
    {ETCH_EW_LN, "ln", [](double a, double) { return std::log(a); }, kClose},
    {ETCH_EW_SQRT, "sqrt", [](double a, double) { return std::sqrt(static_cast<float>(a)); }},
    {ETCH_EW_FLOOR, "floor", [](double a, double) { return std::floor(a); }},
    {ETCH_EW_SQUARE, "square", [](double a, double) { return static_cast<float>(a * a); }},
    {ETCH_EW_SOFTPLUS, "softplus",
     [](double a, double) { return a > 20 ? a : std::log1p(std::exp(a)); }, kClose},
    {ETCH_EW_CLAMP, "clamp", [](double a, double) { return std::min(std::max(a, kLo), kHi); }},
    {ETCH_EW_SOFTCAP, "softcap", [](double a, double) { return kLo * std::tanh(a / kLo); }, kClose},
    {ETCH_EW_COPY, "copy", [](double a, double) { return a; }},
};
static_assert(std::size(kOperations) == ETCH_EW_COUNT);

etch_elementwise args_of(etch_elementwise_op op, std::vector<float>& a, std::vector<float>& b,
                         std::vector<float>& y, std::vector<int64_t> sizes) {
  etch_elementwise e{};
  e.a = test::bytes_of(a);
  e.b = test::bytes_of(b);
  e.y = test::bytes_of(y);
  int64_t stride = 4;
  for (size_t i = 4; i-- > 0;) {
    e.sizes[i] = sizes[i];
    e.a_strides[i] = e.b_strides[i] = e.y_strides[i] = stride;
    stride *= sizes[i];
  }
  e.lo = static_cast<float>(kLo);
  e.hi = static_cast<float>(kHi);
  e.op = op;
  e.rows_of = ETCH_ONCE;
  return e;
}

TEST(Elementwise, EveryOperationIsItsDefinition) {
  const test::Step step({{0, 0, 1}});
  constexpr int64_t kN = 1500;  // more than one item, and a tail
  std::vector<float> a = test::random_floats(kN, 1, 4), b = test::random_floats(kN, 2, 4);
  a[0] = 0.0f, a[1] = -0.0f, a[2] = 60, a[3] = -60;
  for (const Operation& o : kOperations) {
    std::vector<float> scalar;
    for (const How how :
         {How{ETCH_SCALAR, 1}, How{ETCH_SCALAR, 3}, How{best_isa(), 1}, How{best_isa(), 2}}) {
      std::vector<float> y(kN);
      test::run_kernel("elementwise", args_of(o.op, a, b, y, {1, 1, 1, kN}), step.abi, how);
      if (scalar.empty()) scalar = y;
      EXPECT_TRUE(test::same_bits(y, scalar)) << o.name << " " << test::describe(how);
    }
    for (size_t k = 0; k < kN; ++k) {
      const double t = o.truth(a[k], b[k]);
      if (std::isnan(t))
        EXPECT_TRUE(std::isnan(scalar[k])) << o.name << " of " << a[k];
      else if (o.error == 0 || std::isinf(t))
        EXPECT_EQ(scalar[k], t) << o.name << " of " << a[k] << ", " << b[k];
      else
        EXPECT_LE(std::abs(scalar[k] - t), o.error * std::max(1.0, std::abs(t)))
            << o.name << " of " << a[k] << ", " << b[k];
    }
  }
}

// The functions of math.h are one text; here every instruction set is held to it over all
// magnitudes, special values and every size of tail.
TEST(Elementwise, EveryInstructionSetGivesTheSameBitsOverTheWholeLine) {
  const test::Step step({{0, 0, 1}});
  std::vector<float> a = {0.0f,   -0.0f,  INFINITY, -INFINITY, NAN,    88.7f,
                          88.73f, -87.0f, -87.01f,  20.0f,     1e-45f, 3e38f};
  for (uint64_t bits = 0; bits < 1ull << 32; bits += 40009)
    a.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (int i = -40000; i < 40000; ++i) a.push_back(static_cast<float>(i) / 400);
  std::vector<float> b = test::random_floats(static_cast<int64_t>(a.size()), 3);
  for (const Operation& o : kOperations) {
    std::vector<float> scalar(a.size()), y(a.size());
    const int64_t n = static_cast<int64_t>(a.size());
    test::run_kernel("elementwise", args_of(o.op, a, b, scalar, {1, 1, 1, n}), step.abi,
                     {ETCH_SCALAR, 1});
    for (const etch_isa isa : test::usable_isas()) {
      test::run_kernel("elementwise", args_of(o.op, a, b, y, {1, 1, 1, n}), step.abi, {isa, 2});
      EXPECT_TRUE(test::same_bits(y, scalar)) << o.name << " " << isa_name(isa);
    }
  }
  for (const etch_isa isa : test::usable_isas())
    for (int64_t n = 0; n <= 35; ++n) {
      std::vector<float> y(36, -5), expected(36, -5);
      test::run_kernel("elementwise", args_of(ETCH_EW_SILU_MUL, a, b, expected, {1, 1, 1, 36}),
                       step.abi, {ETCH_SCALAR, 1});
      std::fill(expected.begin() + n, expected.end(), -5.0f);
      test::run_kernel("elementwise", args_of(ETCH_EW_SILU_MUL, a, b, y, {1, 1, 1, n}), step.abi,
                       {isa, 1});
      EXPECT_TRUE(test::same_bits(y, expected)) << n << " " << isa_name(isa);
    }
}

TEST(Elementwise, FourAxesOfAnyStridesPerRow) {
  constexpr int64_t kTokens = 3, kS[4] = {2, 3, 2, 19};
  const test::Step step({{0, 0, kTokens}});
  std::vector<float> a = test::random_floats(20000, 5), b = test::random_floats(20000, 6);
  struct Strides {
    int64_t a[4], b[4], y[4];
  };
  const Strides cases[] = {
      {{1200, 400, 200, 4}, {1200, 400, 200, 4}, {1200, 400, 200, 4}},
      {{456, 152, 76, 4}, {0, 0, 76, 4}, {1200, 400, 200, 4}},      // b repeats over the outer axes
      {{456, 152, 76, 4}, {456, 152, 76, 0}, {456, 152, 76, 4}},    // and over the innermost one
      {{1200, 40, 20, 120}, {1200, 400, 4, 8}, {3600, 16, 8, 48}},  // transposed
  };
  for (const Strides& s : cases)
    for (const etch_isa isa : test::usable_isas())
      for (const int32_t threads : {1, 4}) {
        std::vector<float> y(20000), expected(20000);
        etch_elementwise e = args_of(ETCH_EW_SUB, a, b, y, {kS[0], kS[1], kS[2], kS[3]});
        e.rows_of = ETCH_TOKENS;
        std::copy(s.a, s.a + 4, e.a_strides);
        std::copy(s.b, s.b + 4, e.b_strides);
        std::copy(s.y, s.y + 4, e.y_strides);
        const auto place = [&](const int64_t* strides, const int64_t* i) {
          return static_cast<size_t>(
              (i[0] * strides[0] + i[1] * strides[1] + i[2] * strides[2] + i[3] * strides[3]) / 4);
        };
        int64_t i[4];
        for (i[0] = 0; i[0] < kS[0] * kTokens; ++i[0])
          for (i[1] = 0; i[1] < kS[1]; ++i[1])
            for (i[2] = 0; i[2] < kS[2]; ++i[2])
              for (i[3] = 0; i[3] < kS[3]; ++i[3])
                expected[place(s.y, i)] = a[place(s.a, i)] - b[place(s.b, i)];
        test::run_kernel("elementwise", e, step.abi, {isa, threads});
        EXPECT_TRUE(test::same_bits(y, expected)) << test::describe({isa, threads});
      }
}

TEST(Elementwise, ConstantsStandInForAnOperandAndTheResultMayBeOne) {
  const test::Step step({{0, 0, 1}});
  for (const etch_isa isa : test::usable_isas()) {
    std::vector<float> x = test::random_floats(37, 7), before = x, none;
    etch_elementwise e = args_of(ETCH_EW_MUL, x, x, x, {1, 1, 1, 37});
    e.b = nullptr;
    e.constant = 0.125f;
    test::run_kernel("elementwise", e, step.abi, {isa, 1});
    for (size_t k = 0; k < x.size(); ++k) EXPECT_EQ(x[k], before[k] * 0.125f);
    e.b = e.a;
    e.a = nullptr;
    e.op = ETCH_EW_SUB;
    before = x;
    test::run_kernel("elementwise", e, step.abi, {isa, 1});
    for (size_t k = 0; k < x.size(); ++k) EXPECT_EQ(x[k], 0.125f - before[k]);
  }
}

TEST(Elementwise, ModuloOfWholeNumbersIsExact) {
  const test::Step step({{0, 0, 1}});
  std::vector<float> a, b;
  for (int64_t i = 0; i < 20000; ++i) {
    b.push_back(static_cast<float>(1 + i % 997));
    a.push_back(static_cast<float>((i * 7919) % (1 << 24)));
    if (i % 3 == 0) a.back() = b.back() * static_cast<float>(i % 16000) - 1;
  }
  std::vector<float> y(a.size());
  test::run_kernel("elementwise",
                   args_of(ETCH_EW_MOD, a, b, y, {1, 1, 1, static_cast<int64_t>(a.size())}),
                   step.abi, {best_isa(), 1});
  for (size_t k = 0; k < a.size(); ++k) {
    const int64_t m = static_cast<int64_t>(b[k]), r = static_cast<int64_t>(a[k]) % m;
    ASSERT_EQ(y[k], static_cast<float>(r < 0 ? r + m : r)) << a[k] << " % " << b[k];
  }
}

}  // namespace
}  // namespace etch
