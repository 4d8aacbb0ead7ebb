// Kernels that pick and mix rows: embed, gather, mix, route, wire_matmul.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "dtypes/dtype.h"
#include "support/kernel_run.h"
#include "support/matmul_case.h"

namespace etch {
namespace {

std::string lower_case(std::string_view s) {
  std::string result;
  for (const char c : s) result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

TEST(Embed, GivesTheRowsOfEveryTypeAsItsDecoderDoes) {
  constexpr int64_t kTable = 11;
  test::Step step({{0, 0, 7}});
  std::mt19937 random(1);
  int tested = 0;
  for (const DTypeInfo& t : all_dtypes()) {
    const std::string kernel = "embed_" + lower_case(t.name);
    if (find_kernel(kernel) == nullptr) continue;
    ++tested;
    const int64_t d = t.state == DTypeState::plain ? 37 : t.block_elements * 3;
    std::vector<uint8_t> table(static_cast<size_t>(kTable * row_bytes(t.dtype, d)));
    test::fill_random_weights(t.dtype, table.data(), kTable * d, random);
    for (const float factor : {1.0f, 27.5f})
      for (const etch_isa isa : test::usable_isas()) {
        std::vector<float> y(static_cast<size_t>(7 * d)), expected(y.size());
        etch_embed a{};
        a.table = table.data();
        a.y = test::view_of(y, d);
        a.d = d;
        a.n_table = kTable;
        a.factor = factor;
        a.rows = {ETCH_TOKENS, 1};
        test::run_kernel(kernel, a, step.abi, {isa, 2});
        for (int64_t r = 0; r < 7; ++r)
          t.decode(table.data() + step.tokens()[static_cast<size_t>(r)] * row_bytes(t.dtype, d),
                   expected.data() + r * d, d);
        for (float& v : expected) v *= factor;
        EXPECT_TRUE(test::same_bits(y, expected)) << kernel << " " << isa_name(isa);
      }
  }
  EXPECT_EQ(tested, 15);
  EXPECT_EQ(std::count(step.failed.begin(), step.failed.end(), 0), 7);
}

TEST(Embed, ZeroesAndMarksARowWithoutOne) {
  for (const int32_t bad : {-1, 4, INT32_MAX}) {
    test::Step step({{0, 0, 2}});
    std::vector<float> table = {1, 2, 3, 4}, y(2, 9);
    const std::vector<int32_t> ids = {bad, 2};
    etch_embed a{test::bytes_of(table), ids.data(), test::view_of(y, 1), 1, 4, 1, {ETCH_TOKENS, 1}};
    test::run_kernel("embed_f32", a, step.abi, {});
    EXPECT_EQ(y, (std::vector<float>{0, 3}));
    EXPECT_EQ(step.failed, (std::vector<int32_t>{7, 0}));
  }
}

TEST(Gather, BringsTheOutputRowsTogether) {
  const test::Step step({{0, 0, 5}}, {1, 4});
  std::vector<float> x = test::random_floats(5 * 40, 1), y(2 * 33);
  etch_gather a{test::view_of(x, 40), test::view_of(y, 33), 33};
  for (const etch_isa isa : test::usable_isas()) {
    test::run_kernel("gather", a, step.abi, {isa, 3});
    EXPECT_TRUE(std::equal(y.begin(), y.begin() + 33, x.begin() + 40));
    EXPECT_TRUE(std::equal(y.begin() + 33, y.end(), x.begin() + 160));
  }
}

TEST(Mix, AddsTheSlotsInOrder) {
  constexpr int64_t kD = 1100, kRows = 3, kSlots = 5;
  const test::Step step({{0, 0, kRows}});
  std::vector<float> x = test::random_floats(kRows * kSlots * kD, 1);
  const std::vector<float> w = test::random_floats(kRows * kSlots, 2);
  for (const bool weighted : {true, false}) {
    std::vector<float> expected(kRows * kD);
    for (size_t r = 0; r < kRows; ++r)
      for (size_t s = 0; s < kSlots; ++s)
        for (size_t k = 0; k < kD; ++k) {
          float& sum = expected[r * kD + k];
          const float v = x[(r * kSlots + s) * kD + k];
          sum = weighted ? std::fma(w[r * kSlots + s], v, sum) : sum + v;
        }
    for (const etch_isa isa : test::usable_isas()) {
      std::vector<float> y(kRows * kD);
      etch_mix a{weighted ? w.data() : nullptr,
                 test::view_of(x, kSlots * kD, kD),
                 test::view_of(y, kD),
                 kD,
                 kSlots,
                 {ETCH_TOKENS, 1}};
      test::run_kernel("mix", a, step.abi, {isa, 4});
      EXPECT_TRUE(test::same_bits(y, expected)) << isa_name(isa);
    }
  }
}

TEST(WireMatmul, MultipliesRowByRowInSixteenPartialSums) {
  constexpr int64_t kTokens = 2;
  const test::Step step({{0, 0, kTokens}});
  for (const auto& [m, k, n] :
       {std::tuple<int64_t, int64_t, int64_t>{3, 37, 21}, {1, 16, 16}, {5, 3, 1}, {2, 64, 40}})
    for (const bool transposed : {false, true}) {
      std::vector<float> a = test::random_floats(kTokens * m * k, 1),
                         b = test::random_floats(kTokens * k * n, 2);
      std::vector<float> expected;
      for (int64_t t = 0; t < kTokens; ++t)
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) {
            std::vector<float> p(16);
            for (int64_t e = 0; e < k; ++e) {
              const float be =
                  b[static_cast<size_t>(t * k * n + (transposed ? j * k + e : e * n + j))];
              p[static_cast<size_t>(e % 16)] = std::fma(a[static_cast<size_t>((t * m + i) * k + e)],
                                                        be, p[static_cast<size_t>(e % 16)]);
            }
            for (size_t half = 8; half > 0; half /= 2)
              for (size_t e = 0; e < half; ++e) p[e] += p[e + half];
            expected.push_back(p[0] + 0.0f);
          }
      for (const etch_isa isa : test::usable_isas()) {
        std::vector<float> y(static_cast<size_t>(kTokens * m * n));
        etch_wire_matmul w{};
        w.a = test::view_of(a, m * k, k);
        w.b = test::view_of(b, k * n, transposed ? 1 : n);
        w.b_column_stride = transposed ? 4 * k : 4;
        w.y = test::view_of(y, m * n, n);
        w.m = m, w.k = k, w.n = n;
        w.rows_of = ETCH_TOKENS;
        test::run_kernel("wire_matmul", w, step.abi, {isa, 2});
        EXPECT_TRUE(test::same_bits(y, expected))
            << m << " " << k << " " << n << " " << isa_name(isa);
      }
    }
}

// ---- route
// -----------------------------------------------------------------------------------------------------------

struct Routing {
  int32_t n_experts, top, score, groups, top_groups, renorm;
  bool bias;
  float scale;
};

// By definition, in double; the experts must agree wherever no two choices are close.
void expect_route(const Routing& c, const std::vector<float>& s, const std::vector<float>& bias,
                  const int32_t* experts, const float* weights) {
  std::vector<double> p(s.begin(), s.end());
  double total = 0;
  const double top = *std::max_element(s.begin(), s.end());
  for (double& v : p) {
    if (c.score == 1) total += v = std::exp(v - top);
    if (c.score == 2) v = 1 / (1 + std::exp(-v));
    if (c.score == 3) v = std::sqrt(std::log1p(std::exp(v)));
  }
  if (c.score == 1)
    for (double& v : p) v /= total;
  std::vector<double> choice = p;
  for (size_t e = 0; e < p.size(); ++e)
    if (c.bias) choice[e] += bias[e];
  const int32_t size = c.n_experts / std::max(c.groups, 1);
  if (c.groups > 1) {
    std::vector<std::pair<double, int32_t>> ranks;
    for (int32_t g = 0; g < c.groups; ++g) {
      std::vector<double> in(choice.begin() + g * size, choice.begin() + (g + 1) * size);
      std::sort(in.rbegin(), in.rend());
      ranks.push_back({-(in[0] + in[1]), g});
    }
    std::sort(ranks.begin(), ranks.end());
    for (int32_t g = c.top_groups; g < c.groups; ++g)
      for (int32_t e = 0; e < size; ++e)
        choice[static_cast<size_t>(ranks[static_cast<size_t>(g)].second * size + e)] = -INFINITY;
  }
  std::vector<int32_t> order(p.size());
  for (size_t e = 0; e < order.size(); ++e) order[e] = static_cast<int32_t>(e);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return choice[static_cast<size_t>(a)] > choice[static_cast<size_t>(b)];
  });
  double sum = 0;
  for (int32_t i = 0; i < c.top; ++i) sum += p[static_cast<size_t>(order[static_cast<size_t>(i)])];
  for (int32_t i = 0; i < c.top; ++i) {
    const int32_t e = order[static_cast<size_t>(i)];
    ASSERT_EQ(experts[i], e) << i;
    const double w =
        p[static_cast<size_t>(e)] / (c.renorm != 0 ? std::max(sum, 0x1p-14) : 1) * c.scale;
    EXPECT_NEAR(weights[i], w, 2e-6 * std::abs(w));
  }
}

TEST(Route, ChoosesTheBestAndWeighsThem) {
  constexpr int64_t kRows = 9;
  const Routing cases[] = {{8, 2, 1, 1, 1, 0, false, 1},     {60, 4, 1, 1, 1, 1, false, 1},
                           {128, 8, 2, 1, 1, 1, true, 2.5f}, {256, 8, 2, 8, 4, 1, true, 2.5f},
                           {33, 5, 3, 1, 1, 0, true, 1},     {16, 16, 0, 1, 1, 0, false, 1},
                           {17, 3, 0, 1, 1, 0, true, 0.5f}};
  for (const Routing& c : cases) {
    test::Step step({{0, 0, kRows}});
    std::vector<float> scores = test::random_floats(kRows * c.n_experts, 3);
    const std::vector<float> bias = test::random_floats(c.n_experts, 4, 0.3f);
    std::vector<int32_t> experts(static_cast<size_t>(kRows * c.top)), scalar_experts;
    std::vector<float> weights(experts.size()), scalar_weights;
    for (const etch_isa isa : test::usable_isas()) {
      etch_route a{};
      a.scores = test::view_of(scores, c.n_experts);
      a.bias = c.bias ? bias.data() : nullptr;
      a.experts = experts.data();
      a.weights = weights.data();
      a.n_experts = c.n_experts;
      a.top = c.top;
      a.score = c.score;
      a.groups = c.groups;
      a.top_groups = c.top_groups;
      a.renorm = c.renorm;
      a.scale = c.scale;
      a.rows = {ETCH_TOKENS, 1};
      test::run_kernel("route", a, step.abi, {isa, 2});
      if (isa == ETCH_SCALAR) scalar_experts = experts, scalar_weights = weights;
      EXPECT_EQ(experts, scalar_experts);
      EXPECT_TRUE(test::same_bits(weights, scalar_weights)) << isa_name(isa);
    }
    for (int64_t r = 0; r < kRows; ++r)
      expect_route(c, {scores.begin() + r * c.n_experts, scores.begin() + (r + 1) * c.n_experts},
                   bias, experts.data() + r * c.top, weights.data() + r * c.top);
    EXPECT_EQ(std::count(step.failed.begin(), step.failed.end(), 0), kRows);
  }
}

TEST(Route, TakesTheLowerOfEqualsAndWhatIsChosenForIt) {
  test::Step step({{0, 0, 1}});
  std::vector<float> scores(12, 0.5f), weights(3);
  std::vector<int32_t> experts(3);
  const int32_t chosen[] = {7, 2, 9};
  etch_route a{};
  a.scores = test::view_of(scores, 12);
  a.experts = experts.data();
  a.weights = weights.data();
  a.n_experts = 12;
  a.top = 3;
  a.groups = 1;
  a.scale = 1;
  a.rows = {ETCH_TOKENS, 1};
  test::run_kernel("route", a, step.abi, {});
  EXPECT_EQ(experts, (std::vector<int32_t>{0, 1, 2}));
  scores[9] = 1;
  a.chosen = chosen;
  test::run_kernel("route", a, step.abi, {});
  EXPECT_EQ(experts, (std::vector<int32_t>{9, 2, 7}));
  EXPECT_EQ(weights, (std::vector<float>{1, 0.5f, 0.5f}));
}

// Whatever comes in, experts are valid and different, so that nothing behind reads out of bounds.
TEST(Route, KeepsExpertsValidWhenScoresAreNot) {
  test::Step step({{0, 0, 1}});
  for (const float bad : {static_cast<float>(NAN), INFINITY, -INFINITY}) {
    std::vector<float> scores(8, bad), weights(4);
    std::vector<int32_t> experts(4, -1);
    etch_route a{};
    a.scores = test::view_of(scores, 8);
    a.experts = experts.data();
    a.weights = weights.data();
    a.n_experts = 8;
    a.top = 4;
    a.score = 1;
    a.groups = 4;
    a.top_groups = 2;
    a.scale = 1;
    a.rows = {ETCH_TOKENS, 1};
    test::run_kernel("route", a, step.abi, {best_isa(), 1});
    std::sort(experts.begin(), experts.end());
    EXPECT_EQ(std::unique(experts.begin(), experts.end()), experts.end());
    EXPECT_GE(experts.front(), 0);
    EXPECT_LT(experts.back(), 8);
  }
}

}  // namespace
}  // namespace etch
