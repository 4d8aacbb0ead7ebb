// The plain evaluation against numbers worked out on paper. Whole models against other people's
// logits: build_graph_test.cc.
#include "graph/interpret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>

#include "graph/builder.h"
#include "graph/verify.h"

namespace etch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Numbers = std::vector<double>;

MATCHER_P(Near, expected, "") {
  if (arg.size() != expected.size()) return false;
  for (size_t i = 0; i < arg.size(); ++i)
    if (std::abs(arg[i] - expected[i]) > 1e-6 * std::max(1.0, std::abs(expected[i]))) return false;
  return true;
}

std::vector<InterpretRow> sequence(int64_t n, int32_t first = 0, int32_t id = 0) {
  std::vector<InterpretRow> rows;
  for (int64_t i = 0; i < n; ++i)
    rows.push_back({static_cast<int32_t>(i), id, first + static_cast<int32_t>(i), true});
  return rows;
}

struct InterpretTest : testing::Test {
  Builder b{"test"};
  std::deque<std::vector<float>> memory;
  std::vector<InterpretInput> inputs;
  KeptStates states;

  ValueId row(const std::string& name, std::vector<int64_t> shape, std::vector<float> numbers) {
    inputs.push_back({name, std::move(numbers), {}});
    return b.input(name, Rows::tokens, std::move(shape));
  }
  ValueId once(const std::string& name, std::vector<int64_t> shape, std::vector<float> numbers) {
    inputs.push_back({name, std::move(numbers), {}});
    return b.input(name, Rows::once, std::move(shape));
  }
  ValueId weight(std::vector<int64_t> shape, std::vector<float> numbers) {
    memory.push_back(std::move(numbers));
    return b.weight("w", DType::f32, std::move(shape),
                    reinterpret_cast<const uint8_t*>(memory.back().data()));
  }
  ValueId ids() { return b.input("tokens", Rows::tokens, {}, Value::Kind::ids); }

  Result<Interpreted> run(const std::vector<InterpretRow>& rows, Precision precision) {
    const Graph graph = ETCH_TRY(std::move(b).finish());
    ETCH_TRY(verify(graph));
    return interpret(graph, rows, states, precision, inputs);
  }
  // The value in both precisions, which must agree to float's accuracy.
  Numbers numbers(ValueId v, const std::vector<InterpretRow>& rows = sequence(1)) {
    b.output("y", v);
    Builder copy = b;
    const KeptStates before = states;
    const Result<Interpreted> exact = run(rows, Precision::float64);
    b = copy;
    states = before;
    const Result<Interpreted> rounded = run(rows, Precision::float32);
    if (!exact.has_value() || !rounded.has_value()) {
      ADD_FAILURE() << exact.error().message;
      return {};
    }
    EXPECT_THAT(rounded->outputs[0].values, Near(exact->outputs[0].values));
    return rounded->outputs[0].values;
  }
};

TEST_F(InterpretTest, ElementwiseFunctions) {
  const ValueId x = row("x", {3}, {-1, 0.5, 25});
  std::vector<ValueId> parts;
  for (const Op op : {Op::silu, Op::gelu, Op::gelu_tanh, Op::sigmoid, Op::softplus, Op::square})
    parts.push_back(b.unary(op, x));
  EXPECT_THAT(numbers(b.apply(Op::concat, parts)),
              Near(Numbers{-0.2689414214, 0.3112296656, 25, -0.1586552539, 0.3457312307, 25,
                           -0.1588080094, 0.3457140098, 25, 0.2689414214, 0.6224593312, 1,
                           0.3132616875, 0.9740769842, 25, 1, 0.25, 625}));
}

TEST_F(InterpretTest, ClampTakesEitherBoundSoftcapBends) {
  const ValueId x = row("x", {3}, {-9, 2, 9});
  const ValueId low = b.apply(Op::clamp, {x}, {{"lo", -7.0}});
  const ValueId both = b.apply(Op::clamp, {x}, {{"lo", -7.0}, {"hi", 7.0}});
  EXPECT_THAT(numbers(b.apply(Op::concat, {low, both, b.softcap(x, 5)})),
              Near(Numbers{-7, 2, 9, -7, 2, 7, 5 * std::tanh(-1.8), 5 * std::tanh(0.4),
                           5 * std::tanh(1.8)}));
}

TEST_F(InterpretTest, ArithmeticBroadcastsAtTheLastAxisAndOverRows) {
  const ValueId x = row("x", {2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});  // two tokens
  const ValueId w = weight({2}, {10, 20});
  const ValueId scale = row("s", {2, 1}, {1, 2, 3, 4});
  EXPECT_THAT(numbers(b.binary(Op::sub, 1.0, b.mul(b.add(x, w), scale)), sequence(2)),
              ElementsAre(-10, -21, -25, -47, -44, -77, -67, -111));
}

TEST_F(InterpretTest, IdsAreDividedAsIntegersPositionsAsNumbers) {
  const ValueId position = b.input("positions", Rows::tokens, {}, Value::Kind::ids);
  const ValueId half = b.apply(Op::div, {position}, {{"right", int64_t{2}}});
  const ValueId table = weight({2, 1}, {10, 20});
  const ValueId by_token = b.embed(table, b.apply(Op::mod, {ids()}, {{"right", int64_t{2}}}));
  EXPECT_THAT(numbers(b.add(by_token, half), sequence(3)), ElementsAre(10, 20.5, 11));
}

TEST_F(InterpretTest, NormsAndSoftmax) {
  const ValueId x = row("x", {2}, {3, 4});
  const ValueId w = weight({2}, {2, 1});
  const ValueId bias = weight({2}, {0.5, -0.5});
  EXPECT_THAT(
      numbers(b.apply(Op::concat, {b.rmsnorm(x, 0.5, w), b.layernorm(x, 0.75, w, bias),
                                   b.l2norm(x, 0), b.unary(Op::softmax, x), b.unary(Op::sum, x)})),
      Near(Numbers{6 / std::sqrt(13), 4 / std::sqrt(13), -0.5, 0, 0.6, 0.8, 0.2689414214,
                   0.7310585786, 7}));
}

TEST_F(InterpretTest, NormWeightsMaySpanHeads) {
  const ValueId x = row("x", {2, 1}, {3, 5});
  EXPECT_THAT(numbers(b.rmsnorm(x, 0, weight({2, 1}, {2, 7}))), Near(Numbers{2, 7}));
}

TEST_F(InterpretTest, SumsRunInSixteenPartials) {
  // 2^24 + 1 is no float: added to the large number one by one, ones get lost; in partials of their
  // own they do not.
  std::vector<float> x(32, 1);
  x[0] = 0x1p24f;
  b.output("y", b.unary(Op::sum, row("x", {32}, x)));
  EXPECT_THAT(run(sequence(1), Precision::float32)->outputs[0].values, ElementsAre(0x1p24 + 30));
}

TEST_F(InterpretTest, LinearAndStacks) {
  const ValueId x = row("x", {2, 2}, {1, 2, 3, 4});
  const ValueId matrix = weight({3, 2}, {1, 0, 0, 1, 1, 1});
  const ValueId stack = weight({2, 1, 2}, {1, 1, 10, 10});
  const ValueId y = b.merge(b.linear(x, matrix, weight({3}, {0, 0, 100})));
  EXPECT_THAT(numbers(b.apply(Op::concat, {y, b.merge(b.linear(x, stack))})),
              ElementsAre(1, 2, 103, 3, 4, 107, 3, 70));
}

TEST_F(InterpretTest, MatmulOfWires) {
  const ValueId a = row("a", {2, 3}, {1, 2, 3, 4, 5, 6});
  const ValueId m = row("m", {3, 2}, {1, 0, 0, 1, 1, 1});
  EXPECT_THAT(numbers(b.binary(Op::matmul, a, m)), ElementsAre(4, 5, 10, 11));
}

TEST_F(InterpretTest, ViewsAndCopies) {
  const ValueId x = row("x", {2, 3}, {1, 2, 3, 4, 5, 6});
  const auto flat = [&](ValueId v) { return b.reshape(v, {b.value(v).elements()}); };
  const std::vector<ValueId> pieces = b.split(x, {1, 2});
  EXPECT_THAT(
      numbers(b.apply(
          Op::concat,
          {flat(b.apply(Op::transpose, {x})), b.index(x, 1), flat(b.view(x, {0, 1}, {2, 2})),
           flat(pieces[0]), flat(pieces[1]),
           flat(b.apply(Op::repeat, {b.index(x, 0)}, {{"n", int64_t{2}}, {"kind", Symbol::tile}})),
           flat(b.apply(Op::stack, {b.index(x, 0), x})),
           b.apply(Op::zeros, {}, {{"shape", std::vector<int64_t>{2}}})})),
      ElementsAre(1, 4, 2, 5, 3, 6, /**/ 4, 5, 6, /**/ 2, 3, 5, 6, /**/ 1, 4, /**/ 2, 3, 5, 6,
                  /**/ 1, 2, 3, 1, 2, 3, /**/ 1, 2, 3, 1, 2, 3, 4, 5, 6, /**/ 0, 0));
}

TEST_F(InterpretTest, RepeatTilesOrInterleaves) {
  const ValueId x = row("x", {2, 1}, {1, 2});
  const auto repeated = [&](Symbol kind) {
    return b.merge(b.apply(Op::repeat, {x}, {{"n", int64_t{2}}, {"kind", kind}}));
  };
  EXPECT_THAT(numbers(b.apply(Op::concat, {repeated(Symbol::tile), repeated(Symbol::interleave)})),
              ElementsAre(1, 2, 1, 2, 1, 1, 2, 2));
}

TEST_F(InterpretTest, PermuteAndConcatOfHigherAxes) {
  const ValueId x = once("x", {2, 1, 2}, {1, 2, 3, 4});
  const ValueId wide = b.apply(Op::concat, {x, once("y", {1, 1}, {9})});
  EXPECT_THAT(b.value(wide).shape, ElementsAre(2, 1, 3));
  EXPECT_THAT(numbers(b.permute(wide, {2, 1, 0})), ElementsAre(1, 3, 2, 4, 9, 9));
}

TEST_F(InterpretTest, RopeTurnsPairsOrHalvesAndBack) {
  const auto rotary = [&](Symbol layout) { return b.rotary({"pos", layout, 4, {1.0f, 0.25f}, 1}); };
  const ValueId x = row("x", {5}, {0, 0, 0, 0, 0, 1, 2, 3, 4, 5});  // the second token counts
  const ValueId pairs = b.rope(x, rotary(Symbol::pairs));
  const ValueId halves = b.rope(x, rotary(Symbol::halves));
  const ValueId back = b.rope(halves, rotary(Symbol::halves), true);
  const double c = std::cos(1), s = std::sin(1), c2 = std::cos(0.25), s2 = std::sin(0.25);
  const Numbers y = numbers(b.apply(Op::concat, {pairs, halves, back}), sequence(2));
  EXPECT_THAT(Numbers(y.begin() + 15, y.end()),
              Near(Numbers{c - 2 * s, s + 2 * c, 3 * c2 - 4 * s2, 3 * s2 + 4 * c2, 5,  //
                           c - 3 * s, 2 * c2 - 4 * s2, s + 3 * c, 2 * s2 + 4 * c2, 5,  //
                           1, 2, 3, 4, 5}));
}

// ---- attention: values are one entry wide, so that results are weighted means of them

struct AttentionTest : InterpretTest {
  Numbers attend(std::vector<Attribute> attributes, const std::vector<NamedWire>& wires = {},
                 double scale = 0) {
    const ValueId v = row("v", {1, 1}, {1, 2, 4, 8});
    const ValueId q = row("q", {1, 1}, {1, 1, 1, 1});
    return numbers(b.attention(q, v, v, -1, scale, std::move(attributes), wires), sequence(4));
  }
};

TEST_F(AttentionTest, SeesWhatTheMaskShows) {
  EXPECT_THAT(attend({}), Near(Numbers{1, 1.5, 7 / 3., 3.75}));
}
TEST_F(AttentionTest, AWindowCountsThePositionItself) {
  EXPECT_THAT(attend({{"window", int64_t{2}}}), Near(Numbers{1, 1.5, 3, 6}));
}
TEST_F(AttentionTest, FullWindowsReachBothWays) {
  EXPECT_THAT(attend({{"mask", Symbol::full}, {"window", int64_t{3}}}),
              Near(Numbers{1.5, 7 / 3., 14 / 3., 6}));
}
TEST_F(AttentionTest, ChunksDoNotSeeEachOther) {
  EXPECT_THAT(attend({{"chunk", int64_t{2}}}), Near(Numbers{1, 1.5, 4, 6}));
}
TEST_F(AttentionTest, SinksTakeTheirShare) {
  EXPECT_THAT(attend({}, {{"sinks", weight({1}, {0})}}), Near(Numbers{0.5, 1, 1.75, 3}));
}
TEST_F(AttentionTest, ScoresAreScaledAndCapped) {
  const double p = 1 / (1 + std::exp(1.0));  // scores 1 and 2
  const Numbers y = attend({}, {}, 1);
  EXPECT_NEAR(y[1], p + 2 * (1 - p), 1e-6);
}
TEST_F(AttentionTest, SoftcapBendsScores) {
  const double p = 1 / (1 + std::exp(3 * std::tanh(2 / 3.) - 3 * std::tanh(1 / 3.)));
  EXPECT_NEAR(attend({{"softcap", 3.0}}, {}, 1)[1], p + 2 * (1 - p), 1e-6);
}
TEST_F(AttentionTest, AlibiLowersWhatIsFar) {
  const double slope = std::exp2(-8), p = 1 / (1 + std::exp(slope));
  EXPECT_NEAR(attend({{"alibi", 8.0}})[1], p + 2 * (1 - p), 1e-6);
}
TEST_F(AttentionTest, RelativeBucketsGrowLogarithmically) {
  // Four buckets: distances 0 and 1 exactly, from 2 on the third, from 16 (of 128) on the last.
  const ValueId buckets = weight({4, 1}, {0, std::log(2.0f), std::log(4.0f), 50});
  EXPECT_THAT(attend({}, {{"relative", buckets}}),
              Near(Numbers{1, (2 + 2 * 1) / 3., (4 + 2 * 2 + 4 * 1) / 7., (8 + 8 + 8 + 4) / 11.}));
}

TEST_F(InterpretTest, QueryHeadsShareKeyHeads) {
  const ValueId q = row("q", {4, 1}, {1, 1, 1, 1});
  const ValueId v = row("v", {2, 1}, {3, 7});
  EXPECT_THAT(numbers(b.attention(q, v, v, -1, 1)), ElementsAre(3, 3, 7, 7));
}

TEST_F(InterpretTest, AttentionWithoutRowsTakesTheFirstAxisForTokens) {
  const ValueId v = once("v", {3, 1, 1}, {1, 2, 6});
  const ValueId q = once("q", {3, 1, 1}, {0, 0, 0});
  EXPECT_THAT(numbers(b.attention(q, v, v, -1, 1)), Near(Numbers{1, 1.5, 3}));
}

TEST_F(InterpretTest, CachesLastBetweenStepsAndBelongToSequences) {
  const int kv =
      b.state({.name = "kv", .kind = StateInfo::Kind::cache, .n = 1, .d_k = 1, .d_v = 1});
  const ValueId v = b.heads(b.embed(weight({2, 1}, {1, 5}), ids()), 1);
  b.output("y", b.attention(v, v, v, kv, 0));
  const Graph g = std::move(b).finish().value();
  const auto step = [&](std::vector<InterpretRow> rows) {
    return interpret(g, rows, states).value().outputs[0].values;
  };
  EXPECT_THAT(step({{0, 0, 0}, {1, 0, 1}, {1, 9, 0}}), Near(Numbers{1, 3, 5}));
  EXPECT_THAT(step({{0, 9, 1}, {1, 0, 2}}), Near(Numbers{3, 11 / 3.}));
  const Result<Interpreted> gap = interpret(g, std::vector<InterpretRow>{{0, 0, 5}}, states);
  EXPECT_EQ(gap.error().message, "kv: sequence 0 has 3 entries, entry 5 comes next");
}

TEST_F(InterpretTest, LatentsHoldTheirValueInTheKey) {
  const int l =
      b.state({.name = "l", .kind = StateInfo::Kind::latents, .n = 1, .d_k = 3, .d_v = 2});
  const ValueId k = row("k", {1, 3}, {1, 2, 3, 5, 6, 7});
  EXPECT_THAT(numbers(b.attention(k, k, kNoValue, l, 0), sequence(2)), Near(Numbers{1, 2, 3, 4}));
}

TEST_F(InterpretTest, AppendFillsWhatAnotherAttentionReads) {
  const int kv =
      b.state({.name = "kv", .kind = StateInfo::Kind::cache, .n = 1, .d_k = 1, .d_v = 1});
  const ValueId v = row("v", {1, 1}, {1, 5});
  b.apply_all(Op::append, {v, v}, {{"state", StateRef{kv}}});
  EXPECT_THAT(
      numbers(b.attention(v, kNoValue, kNoValue, kv, 0, {{"mask", Symbol::full}}), sequence(2)),
      Near(Numbers{3, 3}));
}

TEST_F(InterpretTest, SelectionsRestrictAttention) {
  const int index = b.state({.name = "index", .kind = StateInfo::Kind::index, .n = 1, .d_k = 1});
  const ValueId k = row("k", {1, 1}, {1, 9, -5, 9});  // the best two, the lower position first
  const ValueId q = row("q", {2, 1}, {1, 1, 1, 1, 1, 1, 1, 1});
  const ValueId only =
      b.apply(Op::select, {q, k}, {{"top", int64_t{2}}, {"state", StateRef{index}}},
              {{"weights", weight({2}, {1, 1})}});
  const ValueId v = row("v", {1, 1}, {1, 2, 4, 8});
  EXPECT_THAT(numbers(b.attention(v, v, v, -1, 0, {}, {{"only", only}}), sequence(4)),
              Near(Numbers{1, 1.5, 1.5, 5}));
}

TEST_F(InterpretTest, SelectionOfBlocksKeepsTheLastOnes) {
  const int index = b.state({.name = "index", .kind = StateInfo::Kind::index, .n = 1, .d_k = 1});
  const ValueId k = row("k", {1, 1}, {9, 0, 1, 1, 3, 2});
  const ValueId q = row("q", {1, 1}, {1, 1, 1, 1, 1, 1});
  const ValueId only = b.apply(Op::select, {q, k},
                               {{"top", int64_t{2}},
                                {"block", int64_t{2}},
                                {"near", int64_t{1}},
                                {"state", StateRef{index}}});
  const ValueId v = row("v", {1, 1}, {1, 2, 4, 8, 16, 32});
  const Numbers y = numbers(b.attention(v, v, v, -1, 0, {}, {{"only", only}}), sequence(6));
  EXPECT_NEAR(y[5], (1 + 2 + 16 + 32) / 4., 1e-6);  // the best block and the last
  EXPECT_NEAR(y[4], (1 + 2 + 16) / 3., 1e-6);
}

TEST_F(InterpretTest, BlocksArePooledAndJoinTheSoftmax) {
  const int tail = b.state({.name = "tail", .kind = StateInfo::Kind::last, .n = 2, .d_k = 2});
  const int blocks = b.state(
      {.name = "blocks", .kind = StateInfo::Kind::latents, .n = 1, .d_k = 1, .d_v = 1, .block = 2});
  const ValueId x = row("x", {1}, {1, 3, 10, 20, 7});
  const ValueId s = row("s", {1}, {0, 0, 0, std::log(3.0f), 0});
  const ValueId pooled =
      b.apply(Op::compress, {x, s}, {{"block", int64_t{2}}, {"state", StateRef{tail}}});
  EXPECT_EQ(b.value(pooled).rows, Rows::blocks);
  b.output("pooled", pooled);
  b.apply_all(Op::append, {b.heads(pooled, 1)}, {{"state", StateRef{blocks}}});
  const ValueId v = b.heads(x, 1);
  b.output("y", b.attention(v, v, v, -1, 0, {{"window", int64_t{1}}, {"also", StateRef{blocks}}}));
  const Interpreted y = run(sequence(5), Precision::float64).value();
  EXPECT_THAT(y.outputs[0].values, Near(Numbers{2, 17.5}));
  EXPECT_THAT(y.outputs[1].values, Near(Numbers{1, (3 + 2) / 2., (10 + 2) / 2., (20 + 2 + 17.5) / 3,
                                                (7 + 2 + 17.5) / 3}));
}

TEST_F(InterpretTest, OverlappingBlocksTakeHalfFromTheBlockBefore) {
  const int tail = b.state({.name = "tail", .kind = StateInfo::Kind::last, .n = 4, .d_k = 4});
  const ValueId x = row("x", {2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const ValueId s = row("s", {2}, {0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_THAT(
      numbers(b.apply(Op::compress, {x, s},
                      {{"block", int64_t{2}}, {"overlap", true}, {"state", StateRef{tail}}}),
              sequence(4)),
      Near(Numbers{3, (1 + 3 + 6 + 8) / 4.}));
}

TEST_F(InterpretTest, ConvolutionAndShiftSeeTheTokensBefore) {
  const int tail = b.state({.name = "tail", .kind = StateInfo::Kind::last, .n = 2, .d_k = 1});
  const int past = b.state({.name = "past", .kind = StateInfo::Kind::last, .n = 1, .d_k = 1});
  const ValueId x = row("x", {1}, {1, 2, 3});
  const ValueId w = weight({1, 3}, {100, 10, 1});
  const ValueId y =
      b.apply(Op::conv1d, {x, w}, {{"state", StateRef{tail}}}, {{"bias", weight({1}, {0.5})}});
  const ValueId z = b.apply(Op::shift, {x}, {{"state", StateRef{past}}});
  EXPECT_THAT(numbers(b.apply(Op::concat, {y, z}), sequence(3)),
              ElementsAre(1.5, 0, 12.5, 1, 123.5, 2));
}

TEST_F(InterpretTest, DilationSkipsTokens) {
  const int tail = b.state({.name = "tail", .kind = StateInfo::Kind::last, .n = 2, .d_k = 1});
  const ValueId x = row("x", {1}, {1, 2, 3});
  EXPECT_THAT(numbers(b.apply(Op::conv1d, {x, weight({1, 2}, {10, 1})},
                              {{"state", StateRef{tail}}, {"dilation", int64_t{2}}}),
                      sequence(3)),
              ElementsAre(1, 2, 13));
}

struct LinearAttentionTest : InterpretTest {
  // One head, one key entry, one value entry: S is a number.
  Numbers read(std::vector<Attribute> attributes, const std::vector<NamedWire>& wires) {
    const int s =
        b.state({.name = "s", .kind = StateInfo::Kind::matrix, .n = 1, .d_k = 1, .d_v = 1});
    attributes.push_back({"state", StateRef{s}});
    const ValueId q = row("q", {1, 1}, {1, 1, 2});
    const ValueId k = row("k", {1, 1}, {1, 2, 1});
    const ValueId v = row("v", {1, 1}, {4, 5, 6});
    std::vector<NamedWire> all = wires;
    all.push_back({"log_decay", row("a", {1}, std::vector<float>(3, std::log(0.5f)))});
    return numbers(b.apply(Op::linear_attention, {q, k, v}, attributes, all), sequence(3));
  }
};

TEST_F(LinearAttentionTest, FadesAndAdds) {  // S: 4, 2 + 10, 6 + 6
  EXPECT_THAT(read({}, {}), Near(Numbers{4, 12, 24}));
}
TEST_F(LinearAttentionTest, ReadsBefore) {
  EXPECT_THAT(read({{"read", Symbol::before}}, {}), Near(Numbers{0, 4, 24}));
}
TEST_F(LinearAttentionTest, DeltaRuleWritesWhatIsNew) {
  // S: 4; 2 + 2 * (5 - 2 * 2) / 2 = 3; 1.5 + (6 - 1.5) / 2 = 3.75, with beta 1, 1/2, 1/2
  EXPECT_THAT(read({}, {{"beta", row("b", {1}, {1, 0.5, 0.5})}}), Near(Numbers{4, 3, 7.5}));
}
TEST_F(LinearAttentionTest, RemovesAlongOneDirectionInsertsAlongAnother) {
  // S: 4; 2 - 3 * (4 * 1) + 10 = 0; 0 - 0 + 6 = 6
  EXPECT_THAT(
      read({}, {{"remove", row("r", {1, 1}, {1, 1, 1})}, {"insert", row("t", {1, 1}, {3, 3, 3})}}),
      Near(Numbers{4, 0, 12}));
}

TEST_F(InterpretTest, PoolsWholeSequences) {
  const ValueId x = row("x", {1}, {1, 2, 6, 10, 20});
  std::vector<InterpretRow> rows = sequence(3);
  for (const InterpretRow& r : sequence(2, 0, 7)) rows.push_back(r);
  std::vector<ValueId> pools;
  for (const Symbol kind : {Symbol::mean, Symbol::first, Symbol::last})
    pools.push_back(b.apply(Op::pool, {x}, {{"kind", kind}}));
  EXPECT_THAT(numbers(b.apply(Op::concat, pools), rows), ElementsAre(3, 1, 6, 15, 10, 20));
}

TEST_F(InterpretTest, RoutesToTheBestAndMixesInTheirOrder) {
  const ValueId s = row("s", {4}, {0, std::log(3.0f), std::log(4.0f), 0});
  const ValueId experts =
      b.apply(Op::route, {s}, {{"top", int64_t{2}}, {"score", Symbol::softmax}, {"renorm", true}});
  const ValueId x = row("x", {1}, {2});
  const ValueId y = b.linear_experts(x, experts, weight({4, 1, 1}, {1, 10, 100, 1000}));
  const ValueId per_slot = b.linear_experts(y, experts, weight({4, 1, 1}, {1, 3, 5, 7}), 1,
                                            weight({4, 1}, {0, 0.5, 0.25, 0}));
  EXPECT_THAT(
      numbers(b.apply(Op::concat, {b.merge(y), b.merge(b.apply(Op::expert_weights, {experts})),
                                   b.mix(per_slot, experts), b.mix(y, experts, true)})),
      Near(Numbers{200, 20, 4 / 7., 3 / 7., (4 * 1000.25 + 3 * 60.5) / 7, 220}));
}

TEST_F(InterpretTest, GroupsOfExpertsCompeteFirstABiasChangesTheChoiceAlone) {
  const ValueId s = row("s", {4}, {5, 1, 4, 3});  // groups {5, 1} and {4, 3}: the second wins
  const auto experts = [&](std::vector<Attribute> more, ValueId bias) {
    more.push_back({"top", int64_t{1}});
    return b.apply(Op::expert_weights, {b.apply(Op::route, {s}, more, {{"bias", bias}})});
  };
  const ValueId grouped = experts({{"groups", int64_t{2}}, {"top_groups", int64_t{1}}}, kNoValue);
  const ValueId pushed = experts({{"scale", 2.0}}, weight({4}, {0, 9, 0, 0}));
  EXPECT_THAT(numbers(b.apply(Op::concat, {grouped, pushed})), ElementsAre(4, 2));
}

TEST_F(InterpretTest, OutputsAreTheRowsThatAskForThem) {
  b.output("y", b.apply(Op::outputs_only, {row("x", {1}, {1, 2, 3})}));
  std::vector<InterpretRow> rows = sequence(3);
  rows[1].wants_output = false;
  EXPECT_THAT(run(rows, Precision::float32)->outputs[0].values, ElementsAre(1, 3));
}

TEST_F(InterpretTest, WeightsAreDecodedFromTheirType) {
  std::vector<uint8_t> blocks(18, 0xA9);  // codes 9 and 10, biased by 8: elements 1 and 2
  blocks[0] = 0x00;
  blocks[1] = 0x3C;  // scale 1
  const ValueId w = b.weight("w", DType::q4_0, {1, 32}, blocks.data());
  EXPECT_THAT(numbers(b.linear(row("x", {32}, std::vector<float>(32, 1)), w)), ElementsAre(48));
}

TEST_F(InterpretTest, SaysWhatIsWrongWithItsInput) {
  b.output("y", b.embed(weight({2, 1}, {1, 5}), ids()));
  const Graph g = std::move(b).finish().value();
  const auto message = [&](std::vector<InterpretRow> rows) {
    return interpret(g, rows, states).error().message;
  };
  EXPECT_EQ(message({{7, 0, 0}}), "embed: id 7 is not in 0..1");
  EXPECT_EQ(message({{0, 0, 0}, {0, 0, 2}}), "sequence 0: position 2 follows 0");
  EXPECT_EQ(message({{0, 0, 0}, {0, 1, 0}, {0, 0, 1}}), "rows of sequence 0 do not stand together");
}

}  // namespace
}  // namespace etch
