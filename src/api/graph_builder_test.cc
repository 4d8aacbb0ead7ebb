// Tensor graphs by hand, through the public header, against the same computed in plain loops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <etch/etch.hpp>

#include "support/count_allocations.h"
#include "support/temporary_dir.h"
#include "support/tiny_gguf.h"

namespace etch {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

std::vector<float> wave(size_t n, float step) {
  std::vector<float> numbers(n);
  for (size_t i = 0; i < n; ++i) numbers[i] = std::sin(step * static_cast<float>(i + 1));
  return numbers;
}

// Q8_0 with the scale 1 / 64: numbers that are multiples of it come back exactly.
std::vector<uint8_t> q8_0_blocks(const std::vector<float>& numbers) {
  std::vector<uint8_t> blocks;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i % 32 == 0) blocks.insert(blocks.end(), {0x00, 0x24});  // 2^-6 as a half
    blocks.push_back(static_cast<uint8_t>(static_cast<int8_t>(numbers[i] * 64)));
  }
  return blocks;
}
std::vector<float> sixty_fourths(size_t n, float step) {
  std::vector<float> numbers = wave(n, step);
  for (float& x : numbers) x = std::round(x * 64) / 64;
  return numbers;
}

struct TensorGraphTest : testing::Test {
  GraphBuilder b{"test"};
  TensorGraph graph;

  void fill(const std::string& name, const std::vector<float>& numbers) {
    const std::span<float> in = graph.input(name);
    ASSERT_EQ(in.size(), numbers.size());
    std::copy(numbers.begin(), numbers.end(), in.begin());
  }
  std::vector<float> run(const std::string& output) {
    const Outcome ran = graph.run();
    EXPECT_TRUE(ran) << ran.message();
    const std::span<const float> y = graph.output(output);
    return {y.begin(), y.end()};
  }
  void build() {
    const Outcome built = b.build(graph, {.threads = 2});
    if (!built) FAIL() << built.message();
  }
};

TEST_F(TensorGraphTest, APerceptronOnQuantisedWeights) {
  constexpr int64_t kBatch = 5, kIn = 64, kHidden = 96, kOut = 7;
  const std::vector<float> w1 = sixty_fourths(kHidden * kIn, 0.37f),
                           w2 = sixty_fourths(kOut * kHidden, 0.91f);
  const std::vector<uint8_t> q1 = q8_0_blocks(w1), q2 = q8_0_blocks(w2);
  const std::vector<float> bias = wave(kHidden, 0.05f);
  const Tensor x = b.input("x", {kBatch, kIn});
  const Tensor h =
      b.relu(b.linear(x, b.weight(ElementType::q8_0, {kHidden, kIn}, q1.data(), q1.size()),
                      b.weight(ElementType::f32, {kHidden}, bias.data(), bias.size() * 4)));
  const Tensor y = b.linear(h, b.weight(ElementType::q8_0, {kOut, kHidden}, q2.data(), q2.size()));
  EXPECT_EQ(b.shape(y), (TensorShape{kBatch, kOut}));
  b.output("y", y);
  ASSERT_NO_FATAL_FAILURE(build());
  EXPECT_GT(graph.planned_bytes(), 0);
  for (const float step : {0.1f, 0.2f}) {
    const std::vector<float> in = wave(kBatch * kIn, step);
    fill("x", in);
    const std::vector<float> got = run("y");
    ASSERT_EQ(got.size(), static_cast<size_t>(kBatch * kOut));
    for (int64_t r = 0; r < kBatch; ++r) {
      std::vector<double> hidden(kHidden);
      for (int64_t o = 0; o < kHidden; ++o) {
        double acc = bias[static_cast<size_t>(o)];
        for (int64_t k = 0; k < kIn; ++k)
          acc +=
              double{w1[static_cast<size_t>(o * kIn + k)]} * in[static_cast<size_t>(r * kIn + k)];
        hidden[static_cast<size_t>(o)] = std::max(acc, 0.0);
      }
      for (int64_t o = 0; o < kOut; ++o) {
        double acc = 0;
        for (int64_t k = 0; k < kHidden; ++k)
          acc += double{w2[static_cast<size_t>(o * kHidden + k)]} * hidden[static_cast<size_t>(k)];
        // Inputs are rounded to 8 bits on the way: some 0.5 % of the largest term a product.
        EXPECT_NEAR(got[static_cast<size_t>(r * kOut + o)], acc, 0.5);
      }
    }
  }
}

TEST_F(TensorGraphTest, RunningAllocatesNothing) {
  const std::vector<float> w = sixty_fourths(64 * 64, 0.3f);
  const std::vector<uint8_t> q = q8_0_blocks(w);
  const Tensor x = b.input("x", {3, 64});
  const Tensor h =
      b.rmsnorm(b.linear(x, b.weight(ElementType::q8_0, {64, 64}, q.data(), q.size())), 1e-5f);
  const Tensor heads = b.reshape(h, {3, 4, 16});
  const Tensor seen = b.attention(heads, heads, heads, {.scale = 0.25f});
  b.output("y", b.softmax(b.add(b.reshape(seen, {3, 64}), x)));
  ASSERT_NO_FATAL_FAILURE(build());
  fill("x", wave(3 * 64, 0.2f));
  const std::vector<float> first = run("y");
  ASSERT_EQ(first.size(), 3u * 64);
  const int64_t before = n_allocations;
  float sum = 0;
  for (int i = 0; i < 10; ++i) {
    const std::span<float> in = graph.input("x");
    in[0] = in[0] + 0.0f;
    ASSERT_TRUE(graph.run());
    sum += graph.output("y")[0];
  }
  EXPECT_EQ(n_allocations - before, 0);
  EXPECT_NEAR(sum, 10 * first[0], 1e-5);
}

TEST_F(TensorGraphTest, ViewsReshapesAndPermutations) {
  const Tensor x = b.input("x", {2, 3, 4});
  b.output("permuted", b.permute(x, {2, 0, 1}));
  b.output("viewed", b.view(x, {0, 1, 1}, {2, 2, 2}));
  b.output("turned", b.transpose(b.reshape(x, {6, 4})));
  const std::vector<Tensor> pieces = b.split(x, {1, 3});
  b.output("joined", b.concat({pieces[1], pieces[0]}));
  b.output("sum", b.sum(b.permute(x, {0, 2, 1})));
  ASSERT_NO_FATAL_FAILURE(build());
  std::vector<float> numbers(24);
  for (size_t i = 0; i < 24; ++i) numbers[i] = static_cast<float>(i);
  fill("x", numbers);
  std::vector<float> permuted, turned, joined;
  for (size_t k = 0; k < 4; ++k)
    for (size_t i = 0; i < 2; ++i)
      for (size_t j = 0; j < 3; ++j) permuted.push_back(numbers[12 * i + 4 * j + k]);
  for (size_t k = 0; k < 4; ++k)
    for (size_t row = 0; row < 6; ++row) turned.push_back(numbers[4 * row + k]);
  for (size_t row = 0; row < 6; ++row)
    for (const size_t k : {1, 2, 3, 0}) joined.push_back(numbers[4 * row + k]);
  EXPECT_THAT(run("permuted"), ElementsAreArray(permuted));
  EXPECT_THAT(run("viewed"), ElementsAre(5, 6, 9, 10, 17, 18, 21, 22));
  EXPECT_THAT(run("turned"), ElementsAreArray(turned));
  EXPECT_THAT(run("joined"), ElementsAreArray(joined));
  EXPECT_THAT(run("sum"), ElementsAre(12, 15, 18, 21, 48, 51, 54, 57));
}

TEST_F(TensorGraphTest, EmbedsIdsOfAFile) {
  test::TinyGguf tiny;
  std::vector<float> table = wave(5 * 32, 0.1f);
  std::vector<uint8_t> bytes(table.size() * sizeof(float));
  std::memcpy(bytes.data(), table.data(), bytes.size());
  tiny.data("table", DType::f32, {32, 5}, bytes);
  const test::TemporaryDir dir;
  const std::string path = tiny.write(dir, "table.gguf");
  ASSERT_TRUE(b.use_file(path));
  b.output("y", b.embed(b.file_weight("table"), b.input_ids("ids", {2})));
  ASSERT_NO_FATAL_FAILURE(build());
  const std::span<int32_t> ids = graph.input_ids("ids");
  ids[0] = 4;
  ids[1] = 1;
  std::vector<float> wanted(table.begin() + 4 * 32, table.begin() + 5 * 32);
  wanted.insert(wanted.end(), table.begin() + 32, table.begin() + 64);
  EXPECT_THAT(run("y"), ElementsAreArray(wanted));
  ids[0] = 5;
  EXPECT_FALSE(graph.run());
}

TEST_F(TensorGraphTest, RowsAttendToRowsBefore) {
  const Tensor q = b.input("q", {3, 1, 1});
  const Tensor v = b.input("v", {3, 1, 1});
  b.output("causal", b.attention(q, v, v, {.scale = 1}));
  b.output("full", b.attention(q, v, v, {.scale = 1, .causal = false}));
  ASSERT_NO_FATAL_FAILURE(build());
  fill("q", {0, 0, 0});
  fill("v", {1, 2, 6});
  EXPECT_THAT(run("causal"), ElementsAre(1, 1.5, 3));
  EXPECT_THAT(run("full"), ElementsAre(3, 3, 3));
}

TEST_F(TensorGraphTest, QueryHeadsShareKeysAndWindowsHide) {
  const Tensor q = b.input("q", {3, 2, 1});
  const Tensor k = b.input("k", {3, 1, 1});
  b.output("y", b.attention(q, k, k, {.scale = 1, .window = 2}));
  ASSERT_NO_FATAL_FAILURE(build());
  fill("q", {0, 0, 0, 0, 0, 0});
  fill("k", {1, 2, 6});
  EXPECT_THAT(run("y"), ElementsAre(1, 1, 1.5, 1.5, 4, 4));
}

TEST_F(TensorGraphTest, ManyHeads) {
  const Tensor x = b.input("x", {2, 70, 1});
  b.output("y", b.attention(x, x, x, {.scale = 0}));
  ASSERT_NO_FATAL_FAILURE(build());
  std::vector<float> numbers(140), wanted(140);
  for (size_t i = 0; i < 140; ++i) numbers[i] = static_cast<float>(i);
  for (size_t i = 0; i < 70; ++i) {
    wanted[i] = numbers[i];
    wanted[70 + i] = (numbers[i] + numbers[70 + i]) / 2;
  }
  fill("x", numbers);
  EXPECT_THAT(run("y"), ElementsAreArray(wanted));
}

TEST_F(TensorGraphTest, MistakesAreRememberedAndTold) {
  const Tensor x = b.input("x", {4, 8});
  const std::vector<float> w(64);
  const Tensor wrong = b.linear(x, b.weight(ElementType::f32, {4, 16}, w.data(), 256));
  b.output("y", b.relu(wrong));
  EXPECT_FALSE(b.status());
  const Outcome built = b.build(graph);
  EXPECT_FALSE(built);
  EXPECT_EQ(built.code(), 2);
  EXPECT_THAT(built.message(), HasSubstr("linear"));
  EXPECT_TRUE(graph.output("y").empty());
  EXPECT_FALSE(graph.run());
}

TEST_F(TensorGraphTest, WeightsMustHaveTheirBytes) {
  const std::vector<uint8_t> bytes(100);
  b.weight(ElementType::q8_0, {2, 32}, bytes.data(), bytes.size());
  EXPECT_EQ(b.status().message(), "a weight of Q8_0 [2, 32] takes 68 bytes, 100 are given");
}

TEST_F(TensorGraphTest, ShapesTooLargeAreRefused) {
  b.input("x", {int64_t{1} << 40, int64_t{1} << 40});
  EXPECT_FALSE(b.build(graph));
}

TEST(BytesOf, CountsWholeBlocks) {
  EXPECT_EQ(bytes_of(ElementType::q4_k, 2, 512), 576u);
  EXPECT_EQ(bytes_of(ElementType::q4_k, 2, 100), 0u);
  EXPECT_EQ(bytes_of(ElementType::f32, INT64_MAX, 2), 0u);
}

}  // namespace
}  // namespace etch
