#include "graph/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/interpret.h"
#include "graph/print.h"

namespace etch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Numbers without a pattern, the same every time.
std::vector<float> noise(size_t n) {
  std::vector<float> numbers(n);
  uint32_t state = 12345;
  for (float& x : numbers) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<float>(state >> 8) * 0x1p-24f - 0.5f;
  }
  return numbers;
}

struct PassesTest : testing::Test {
  static constexpr int64_t d = 8;
  std::vector<float> memory = noise(4096);
  Builder b{"test"};
  ValueId tokens = b.input("tokens", Rows::tokens, {}, Value::Kind::ids);

  ValueId weight(const std::string& name, std::vector<int64_t> shape, int64_t at = 0) {
    return b.weight(name, DType::f32, std::move(shape),
                    reinterpret_cast<const uint8_t*>(memory.data() + at));
  }
  void output(const std::string& name, ValueId v) {
    b.output(name, b.apply(Op::outputs_only, {v}));
  }

  // Two layers with something for every pass: the same norm twice, factors of one, a constant that
  // can be computed, a branch that nobody uses, a tail behind the last cache, and two outputs.
  Graph two_layers() {
    ValueId x = b.embed(weight("embd", {16, d}), tokens);
    for (int layer = 0; layer < 2; ++layer) {
      const int kv = b.state({.name = "kv", .n = 2, .d_k = 4, .d_v = 4});
      const ValueId q = b.heads(b.linear(b.rmsnorm(x, 1e-5), weight("q", {d, d}, 100)), 2);
      const ValueId k = b.heads(b.linear(b.rmsnorm(x, 1e-5), weight("k", {d, d}, 200)), 2);
      const ValueId v = b.heads(b.linear(b.rmsnorm(x, 1e-5), weight("k", {d, d}, 200)), 2);
      x = b.add(x, b.merge(b.attention(q, k, v, kv, 0.5)));
      const ValueId two = b.binary(Op::mul, b.constant(std::vector<float>(d, 1.5f), {d}), 2.0);
      const ValueId h = b.unary(Op::silu, b.linear(b.rmsnorm(x, 1e-5), weight("up", {16, d}, 300)));
      const std::vector<ValueId> halves = b.split(h, {d, d});
      x = b.add(x, b.mul(b.binary(Op::mul, b.mul(halves[0], halves[1]), 1.0), two));
      b.unary(Op::exp, x);
    }
    const ValueId hidden = b.rmsnorm(x, 1e-5);
    output("hidden", hidden);
    output("logits", b.linear(hidden, weight("output", {16, d}, 500)));
    return std::move(b).finish().value();
  }

  static std::vector<std::vector<double>> results(const Graph& graph) {
    KeptStates states;
    std::vector<std::vector<double>> all;
    for (int step = 0; step < 2; ++step) {
      std::vector<InterpretRow> rows;
      for (int i = 0; i < 5; ++i)
        rows.push_back({(7 * i + step) % 16, 0, 5 * step + i, i % 2 == 0});
      const Interpreted y = interpret(graph, rows, states).value();
      for (const InterpretedOutput& output : y.outputs) all.push_back(output.values);
    }
    return all;
  }

  static int64_t count(const Graph& graph, Op op) {
    int64_t n = 0;
    for (const Node& node : graph.nodes) n += !node.dead && node.op == op;
    return n;
  }
};

TEST_F(PassesTest, AnySubsetGivesTheSameBits) {
  const Graph graph = two_layers();
  const std::vector<std::vector<double>> wanted = results(graph);
  const std::span<const GraphPass> passes = graph_passes();
  ASSERT_EQ(passes.size(), 4u);
  for (unsigned subset = 0; subset < 16; ++subset) {
    PassOptions options;
    for (size_t i = 0; i < passes.size(); ++i)
      if (!(subset >> i & 1)) options.without.insert(std::string(passes[i].name));
    Graph changed = graph;
    const auto records = run_passes(changed, options);
    ASSERT_TRUE(records.has_value()) << records.error().message;
    EXPECT_EQ(results(changed), wanted) << "passes " << subset << "\n" << print(changed);
  }
}

TEST_F(PassesTest, EachDoesItsWork) {
  Graph graph = two_layers();
  std::vector<std::string> seen;
  const auto after = [&](std::string_view pass, const Graph& g) {
    seen.emplace_back(pass);
    if (pass == "fold_constants") {
      // Per layer: the activation's product stays, times 1 and 1.5 * 2 are gone.
      EXPECT_EQ(count(g, Op::mul), 4);
      EXPECT_EQ(count(g, Op::constant), 4);
    } else if (pass == "share_common") {
      EXPECT_EQ(count(g, Op::rmsnorm), 5);  // two a layer, one at the end
      EXPECT_EQ(count(g, Op::weight), 5);   // q, k and up of both layers are the same bytes
      EXPECT_EQ(count(g, Op::linear), 7);   // k and v are one
    } else if (pass == "last_rows") {
      EXPECT_EQ(count(g, Op::outputs_only), 2);  // of the last attention and of what it is added to
    } else if (pass == "drop_unused") {
      EXPECT_EQ(count(g, Op::exp), 0);
    }
  };
  const auto records = run_passes(graph, {.without = {}, .after = after});
  ASSERT_TRUE(records.has_value()) << records.error().message;
  EXPECT_THAT(seen, ElementsAre("fold_constants", "drop_unused", "share_common", "last_rows"));
  EXPECT_LT(records->back().nodes_after, records->front().nodes_before);
  EXPECT_EQ(graph.value(graph.find_output("logits")->value).rows, Rows::outputs);
}

TEST_F(PassesTest, LastRowsStopsAtTheLastState) {
  Graph graph = two_layers();
  const size_t n_before = graph.nodes.size();
  ASSERT_TRUE(
      run_passes(graph, {.without = {"fold_constants", "share_common"}, .after = {}}).has_value());
  for (const Node& node : graph.nodes) {
    if (node.dead || node.op != Op::attention) continue;
    EXPECT_EQ(graph.value(node.outputs[0]).rows, Rows::tokens);
  }
  // Everything behind the second attention is now made for outputs, at the end of the list.
  for (size_t id = n_before; id < graph.nodes.size(); ++id)
    EXPECT_EQ(graph.value(graph.nodes[id].outputs[0]).rows, Rows::outputs);
  EXPECT_EQ(graph.value(graph.maker(graph.find_output("logits")->value).inputs[0]).rows,
            Rows::outputs);
}

TEST_F(PassesTest, StatesAreWrittenEvenIfNobodyLooks) {
  const int past = b.state({.name = "past", .kind = StateInfo::Kind::last, .n = 1, .d_k = d});
  const ValueId x = b.embed(weight("embd", {16, d}), tokens);
  b.apply(Op::shift, {x}, {{"state", StateRef{past}}});
  b.unary(Op::exp, x);
  output("y", x);
  Graph graph = std::move(b).finish().value();
  ASSERT_TRUE(run_passes(graph).has_value());
  EXPECT_EQ(count(graph, Op::shift), 1);
  EXPECT_EQ(count(graph, Op::exp), 0);
}

TEST_F(PassesTest, ReadsOfAStateAreNotShared) {
  const int kv = b.state({.name = "kv", .n = 1, .d_k = d, .d_v = d});
  const ValueId x = b.heads(b.embed(weight("embd", {16, d}), tokens), 1);
  const ValueId before = b.attention(x, kNoValue, kNoValue, kv, 1);
  const ValueId after = b.attention(x, x, x, kv, 1);
  const ValueId again = b.attention(x, kNoValue, kNoValue, kv, 1);
  output("y", b.add(b.add(before, after), again));
  Graph graph = std::move(b).finish().value();
  ASSERT_TRUE(run_passes(graph).has_value());
  EXPECT_EQ(count(graph, Op::attention), 3);
}

TEST_F(PassesTest, MinusZeroSurvives) {
  const ValueId x = b.embed(weight("embd", {16, d}), tokens);
  output("y", b.binary(Op::add, x, 0.0));
  Graph graph = std::move(b).finish().value();
  ASSERT_TRUE(run_passes(graph).has_value());
  EXPECT_EQ(count(graph, Op::add), 1);
}

TEST_F(PassesTest, UnknownNamesAreRefused) {
  Graph graph = two_layers();
  const auto records = run_passes(graph, {.without = {"fold"}, .after = {}});
  ASSERT_FALSE(records.has_value());
  EXPECT_EQ(records.error().message, "no graph pass is called 'fold'");
}

}  // namespace
}  // namespace etch
