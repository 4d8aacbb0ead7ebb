// Frequencies against numbers of an independent computation (Python, double precision) by the
// published formulas: linear position interpolation; YaRN as its authors' code has it (blend by how
// often a pair turns within the original context); the longrope factors of Phi-3.
#include "circuit/rotary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model.h"
#include "support/tiny_gguf.h"

namespace etch {
namespace {

using ::testing::HasSubstr;

RotarySpec spec(double base, int64_t dims) {
  RotarySpec s;
  s.name = "pos";
  s.dims = Polynomial(dims);
  s.base = base;
  s.scaling = "rope.scaling";
  return s;
}

void expect_frequencies(const Result<Rotary>& rotary, const std::vector<double>& expected,
                        double magnitude) {
  ASSERT_TRUE(rotary) << rotary.error().message;
  ASSERT_EQ(rotary->frequencies.size(), expected.size());
  // The numbers are printed with nine digits, and rounded to float32 once.
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(rotary->frequencies[i], expected[i], 1e-7 * expected[i]) << i;
  EXPECT_NEAR(rotary->magnitude, magnitude, 1e-7 * magnitude);
}

class RotaryScaling : public testing::Test {
 protected:
  Result<Rotary> make(const RotarySpec& s, const RotaryFactors& factors = {},
                      int64_t n_ctx = 8192) {
    auto model = read_model(tiny_.file());
    EXPECT_TRUE(model);
    return make_rotary(s, *model, factors, n_ctx);
  }
  GgufContents& keys() { return tiny_.contents(); }
  test::TinyGguf tiny_{"llama"};
};

TEST_F(RotaryScaling, none_is_the_powers_of_the_base) {
  expect_frequencies(
      make(spec(10000, 16)),
      {1, 0.316227766, 0.1, 0.0316227766, 0.01, 0.00316227766, 0.001, 0.000316227766}, 1);
  keys().set("llama.rope.scaling.type", "none");
  keys().set("llama.rope.scaling.factor", 4.0f);
  expect_frequencies(make(spec(10000, 4)), {1, 0.01}, 1);
}

TEST_F(RotaryScaling, linear_divides) {
  keys().set("llama.rope.scaling.factor", 8.0f);
  expect_frequencies(make(spec(10000, 4)), {0.125, 0.00125}, 1);
  keys().set("llama.rope.scaling.type", "linear");
  keys().set("llama.rope.scaling.attn_factor", 1.5f);
  expect_frequencies(make(spec(10000, 4)), {0.125, 0.00125}, 1.5);
}

TEST_F(RotaryScaling, linear_of_old_files) {
  keys().set("llama.rope.scale_linear", 4.0f);
  expect_frequencies(make(spec(10000, 4)), {0.25, 0.0025}, 1);
}

TEST_F(RotaryScaling, yarn_blends_between_two_pairs) {
  keys().set("llama.rope.scaling.type", "yarn");
  keys().set("llama.rope.scaling.factor", 4.0f);
  keys().set("llama.rope.scaling.original_context_length", 4096u);
  expect_frequencies(
      make(spec(10000, 16)),
      {1, 0.316227766, 0.1, 0.025693506, 0.00625, 0.00138349648, 0.00025, 7.90569415e-05},
      1.138629436111989);
}

TEST_F(RotaryScaling, yarn_with_turns_of_its_own) {
  keys().set("llama.rope.scaling.type", "yarn");
  keys().set("llama.rope.scaling.factor", 40.0f);
  keys().set("llama.rope.scaling.original_context_length", 256u);
  keys().set("llama.rope.scaling.yarn_beta_fast", 4.0f);
  keys().set("llama.rope.scaling.yarn_beta_slow", 2.0f);
  expect_frequencies(make(spec(1000000, 16)),
                     {1, 0.177827941, 0.000790569415, 0.000140585331, 2.5e-05, 4.44569853e-06,
                      7.90569415e-07, 1.40585331e-07},
                     1.3688879454113936);
}

TEST_F(RotaryScaling, yarn_without_whole_ends) {
  keys().set("llama.rope.scaling.type", "yarn");
  keys().set("llama.rope.scaling.factor", 32.0f);
  keys().set("llama.rope.scaling.original_context_length", 4096u);
  RotarySpec s = spec(150000, 16);
  s.truncate = false;
  expect_frequencies(make(s),
                     {1, 0.225418, 0.0508132748, 0.00679495949, 0.000456483919, 1.81883367e-05,
                      4.09997848e-06, 9.2420895e-07},
                     1.3465735902799727);
}

TEST_F(RotaryScaling, longrope_takes_the_factors_of_the_context) {
  keys().set("llama.context_length", 131072u);
  keys().set("llama.rope.scaling.original_context_length", 4096u);
  keys().set("llama.rope.scaling.attn_factor", 1.19f);
  const RotaryFactors factors = {{}, {1, 2}, {4, 50}};
  expect_frequencies(make(spec(10000, 4), factors, 4096), {1, 0.005}, 1.19f);
  expect_frequencies(make(spec(10000, 4), factors, 4097), {0.25, 0.0002}, 1.19f);
}

TEST_F(RotaryScaling, factors_divide_before_scaling) {
  expect_frequencies(make(spec(10000, 4), {{2, 8}, {}, {}}), {0.5, 0.00125}, 1);
}

TEST_F(RotaryScaling, says_what_is_wrong) {
  const auto expect_error = [&](ErrorKind kind, std::string_view message,
                                const RotaryFactors& f = {}) {
    const auto made = make(spec(10000, 4), f);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().kind, kind);
    EXPECT_EQ(made.error().message, message);
  };
  expect_error(ErrorKind::damaged, "rotary 'pos' turns 2 pairs and has 3 factors",
               {{1, 2, 3}, {}, {}});
  expect_error(ErrorKind::damaged, "rotary 'pos': factor 1 is 0", {{1, 0}, {}, {}});
  keys().set("llama.rope.scaling.factor", -2.0f);
  expect_error(ErrorKind::damaged, "rope scaling factor -2 is not positive");
  keys().set("llama.rope.scaling.factor", 2.0f);
  keys().set("llama.rope.scaling.type", "yarn");
  expect_error(ErrorKind::damaged,
               "rope scaling yarn needs original_context_length or context_length");
  keys().set("llama.rope.scaling.type", "longrope");
  expect_error(ErrorKind::damaged, "rope scaling longrope needs the factors short and long");
  keys().set("llama.rope.scaling.type", "dynamic");
  expect_error(ErrorKind::unsupported,
               "rope scaling type 'dynamic' is not known (none, linear, yarn, longrope)");
}

}  // namespace
}  // namespace etch
