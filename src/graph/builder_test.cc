#include "graph/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/print.h"
#include "graph/verify.h"

namespace etch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct BuilderTest : testing::Test {
  Builder b{"test"};
  std::vector<float> numbers = std::vector<float>(4096, 0.5f);

  ValueId weight(const std::string& name, std::vector<int64_t> shape) {
    return b.weight(name, DType::f32, std::move(shape),
                    reinterpret_cast<const uint8_t*>(numbers.data()));
  }
  ValueId tokens() { return b.input("tokens", Rows::tokens, {}, Value::Kind::ids); }
  ValueId row(std::vector<int64_t> shape) { return b.input("x", Rows::tokens, std::move(shape)); }

  std::string error() {
    const Result<Graph> g = std::move(b).finish();
    return g.has_value() ? "" : g.error().message;
  }
};

TEST_F(BuilderTest, FindsOutShapesRowsAndKinds) {
  const ValueId x = b.embed(weight("embd", {10, 16}), tokens());
  EXPECT_THAT(b.value(x).shape, ElementsAre(16));
  EXPECT_EQ(b.value(x).rows, Rows::tokens);
  const ValueId q = b.heads(b.linear(x, weight("q", {12, 16})), 3);
  EXPECT_THAT(b.value(q).shape, ElementsAre(3, 4));
  EXPECT_THAT(b.value(b.merge(q)).shape, ElementsAre(12));
  EXPECT_THAT(b.value(b.apply(Op::transpose, {q})).shape, ElementsAre(4, 3));
  EXPECT_THAT(b.value(b.index(q, 2)).shape, ElementsAre(4));
  EXPECT_THAT(b.value(b.slice(q, 1, 3)).shape, ElementsAre(2, 4));
  EXPECT_THAT(b.value(b.unary(Op::sum, q)).shape, ElementsAre(3, 1));
  EXPECT_THAT(b.value(b.add(q, weight("bias", {4}))).shape, ElementsAre(3, 4));
  const ValueId experts = b.apply(Op::route, {x}, {{"top", int64_t{2}}});
  EXPECT_EQ(b.value(experts).kind, Value::Kind::experts);
  const ValueId up = b.linear_experts(x, experts, weight("up", {16, 8, 16}));
  EXPECT_THAT(b.value(up).shape, ElementsAre(2, 8));
  EXPECT_THAT(b.value(b.mix(up, experts)).shape, ElementsAre(8));
  EXPECT_EQ(b.value(b.apply(Op::outputs_only, {x})).rows, Rows::outputs);
  const Result<Graph> g = std::move(b).finish();
  ASSERT_TRUE(g.has_value()) << g.error().message;
  const Status ok = verify(*g);
  EXPECT_TRUE(ok.has_value()) << ok.error().message;
}

TEST_F(BuilderTest, TokensStayIdsUnderDivisionPositionsBecomeNumbers) {
  const ValueId token = tokens();
  const ValueId position = b.input("positions", Rows::tokens, {}, Value::Kind::ids);
  const auto divided = [&](ValueId v) { return b.apply(Op::div, {v}, {{"right", int64_t{4}}}); };
  EXPECT_EQ(b.value(divided(token)).kind, Value::Kind::ids);
  EXPECT_EQ(b.value(divided(position)).kind, Value::Kind::real);
}

TEST_F(BuilderTest, SaysWhichShapesDoNotFit) {
  b.linear(row({16}), weight("w", {8, 12}));
  EXPECT_EQ(error(), "linear: w takes rows of 12, x has rows of 16");
}

TEST_F(BuilderTest, RemembersTheFirstMistakeOnly) {
  const ValueId x = row({16});
  const ValueId wrong = b.heads(x, 3);
  EXPECT_EQ(wrong, kNoValue);
  EXPECT_EQ(b.merge(wrong), kNoValue);
  b.output("y", wrong);
  EXPECT_EQ(error(), "heads of x: 16 / 3 does not come out even");
}

TEST_F(BuilderTest, RefusesLengthsThatOverflow) {
  b.reshape(row({16}), {int64_t{1} << 40, int64_t{1} << 40});
  EXPECT_THAT(error(), HasSubstr("has not as many elements"));
}

TEST_F(BuilderTest, RefusesAStateThatDoesNotFit) {
  const int kv =
      b.state({.name = "kv[0]", .kind = StateInfo::Kind::cache, .n = 2, .d_k = 4, .d_v = 4});
  const ValueId x = row({2, 8});
  b.attention(x, x, x, kv, 1.0);
  EXPECT_THAT(error(), HasSubstr("x is [2, 8], kv[0] holds [2, 4]"));
}

TEST_F(BuilderTest, RefusesWeightsThatCannotBeRead) {
  b.weight("w", DType::q4_0, {2, 48}, reinterpret_cast<const uint8_t*>(numbers.data()));
  EXPECT_THAT(error(), HasSubstr("rows of 48 are no whole Q4_0 blocks"));
}

TEST_F(BuilderTest, PrintsOneLineANode) {
  b.origin({"circuits/a.circuit", 7, 3, 0});
  const ValueId x = row({4});
  const ValueId y = b.binary(Op::mul, b.linear(x, weight("w", {4, 4})), 2.0);
  b.name(y, "x");
  b.output("y", y);
  const Graph g = std::move(b).finish().value();
  EXPECT_EQ(print(g),
            "graph test\n"
            "n0    x                tokens [4]             = input(name: \"x\")  # layer 0, "
            "circuits/a.circuit:7\n"
            "n1    w                once [4, 4]            = weight(F32 memory)  # layer 0, "
            "circuits/a.circuit:7\n"
            "n2    linear           tokens [4]             = linear(x, w)  # layer 0, "
            "circuits/a.circuit:7\n"
            "n3    x.1              tokens [4]             = mul(linear, 2)  # layer 0, "
            "circuits/a.circuit:7\n"
            "output y = x.1\n");
  EXPECT_THAT(print_json(g), HasSubstr("\"schema\": \"etch.graph/1\""));
}

TEST_F(BuilderTest, VerifyFindsWhatAPassWouldBreak) {
  const ValueId x = row({4});
  const ValueId y = b.unary(Op::silu, b.linear(x, weight("w", {4, 4})));
  b.output("y", y);
  const Graph good = std::move(b).finish().value();
  ASSERT_TRUE(verify(good).has_value());
  const auto message = [&](auto&& damage) {
    Graph g = good;
    damage(g);
    const Status status = verify(g);
    return status.has_value() ? std::string() : status.error().message;
  };
  EXPECT_THAT(message([](Graph& g) { g.nodes[2].dead = true; }), HasSubstr("before it is made"));
  EXPECT_THAT(message([](Graph& g) { std::swap(g.nodes[0].inputs, g.nodes[3].inputs); }),
              HasSubstr("before it is made"));
  EXPECT_THAT(message([](Graph& g) { g.values[3].shape = {5}; }),
              HasSubstr("gives real tokens[4]"));
  EXPECT_THAT(message([](Graph& g) { g.nodes[3].dead = true; }), HasSubstr("made by nobody"));
  EXPECT_THAT(message([](Graph& g) {
                g.nodes[3].attributes.push_back({"eps", 1.0});
              }),
              HasSubstr("silu has 'eps'"));
  EXPECT_THAT(message([](Graph& g) { g.values[0].node = 1; }), HasSubstr("comes from"));
}

}  // namespace
}  // namespace etch
