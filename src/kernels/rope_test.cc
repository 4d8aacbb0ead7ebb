// Rotary tables against double precision, turning against its formula with one fma at a time.
#include <gtest/gtest.h>

#include <cmath>

#include "support/kernel_run.h"

namespace etch {
namespace {

TEST(Rotary, TablesHoldCosinesAndSinesOfTheRoundedAngle) {
  constexpr int64_t kPairs = 37;
  const test::Step step({{0, 0, 3}, {1, 4093, 2}, {2, 5000000, 1}});
  std::vector<float> frequencies(kPairs);
  for (size_t i = 0; i < kPairs; ++i)
    frequencies[i] = static_cast<float>(std::pow(10000.0, -static_cast<double>(i) / kPairs));
  std::vector<float> scalar;
  for (const etch_isa isa : test::usable_isas())
    for (const int32_t threads : {1, 4}) {
      std::vector<float> y(6 * 2 * kPairs);
      etch_rotary a{frequencies.data(), y.data(), kPairs, 1.25f, {ETCH_TOKENS, 1}};
      test::run_kernel("rotary", a, step.abi, {isa, threads});
      if (scalar.empty()) scalar = y;
      EXPECT_TRUE(test::same_bits(y, scalar)) << test::describe({isa, threads});
    }
  for (int64_t r = 0; r < 6; ++r)
    for (int64_t i = 0; i < kPairs; ++i) {
      const float angle =
          static_cast<float>(step.abi.positions[r]) * frequencies[static_cast<size_t>(i)];
      EXPECT_NEAR(scalar[static_cast<size_t>(r * 2 * kPairs + i)], 1.25 * std::cos(double{angle}),
                  2.5e-7);
      EXPECT_NEAR(scalar[static_cast<size_t>((r * 2 + 1) * kPairs + i)],
                  1.25 * std::sin(double{angle}), 2.5e-7);
    }
}

struct Case {
  int64_t d, pairs;
  int32_t layout, inverse;
};

TEST(Rope, TurnsPairsOrHalvesAndCopiesTheRest) {
  constexpr int64_t kTokens = 4, kHeads = 3;
  const test::Step step({{0, 10, kTokens}});
  for (const Case c : {Case{64, 32, ETCH_ROPE_HALVES, 0}, Case{64, 32, ETCH_ROPE_PAIRS, 0},
                       Case{20, 10, ETCH_ROPE_PAIRS, 0}, Case{20, 7, ETCH_ROPE_HALVES, 0},
                       Case{80, 16, ETCH_ROPE_PAIRS, 1}, Case{80, 37, ETCH_ROPE_HALVES, 1},
                       Case{6, 3, ETCH_ROPE_PAIRS, 0}}) {
    const std::vector<float> x = test::random_floats(kTokens * kHeads * c.d, 1);
    const std::vector<float> table = test::random_floats(kTokens * 2 * c.pairs, 2);
    std::vector<float> expected = x;
    for (int64_t r = 0; r < kTokens * kHeads; ++r)
      for (int64_t i = 0; i < c.pairs; ++i) {
        const bool halves = c.layout == ETCH_ROPE_HALVES;
        const auto at = [&](int64_t k) { return static_cast<size_t>(r * c.d + k); };
        const size_t first = at(halves ? i : 2 * i), second = at(halves ? i + c.pairs : 2 * i + 1);
        const auto entry = static_cast<size_t>(r / kHeads * 2 * c.pairs + i);
        const float cos = table[entry], sin = c.inverse != 0
                                                  ? -table[entry + static_cast<size_t>(c.pairs)]
                                                  : table[entry + static_cast<size_t>(c.pairs)];
        expected[first] = std::fma(x[first], cos, -(x[second] * sin));
        expected[second] = std::fma(x[first], sin, x[second] * cos);
      }
    for (const etch_isa isa : test::usable_isas())
      for (const bool in_place : {false, true}) {
        std::vector<float> from = x, to(x.size());
        etch_rope a{};
        a.x = test::view_of(from, kHeads * c.d, c.d);
        a.y = in_place ? a.x : test::view_of(to, kHeads * c.d, c.d);
        a.table = table.data();
        a.d = c.d;
        a.pairs = c.pairs;
        a.layout = c.layout;
        a.inverse = c.inverse;
        a.rows = {ETCH_TOKENS, kHeads};
        test::run_kernel("rope", a, step.abi, {isa, 2});
        EXPECT_TRUE(test::same_bits(in_place ? from : to, expected))
            << c.d << " " << c.pairs << " " << isa_name(isa);
      }
  }
}

}  // namespace
}  // namespace etch
