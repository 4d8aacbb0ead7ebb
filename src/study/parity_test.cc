// Parity: equal runs are found equal, and the first value that differs is named.
#include "study/parity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "lowered/arguments.h"
#include "study/parity_meeting.h"
#include "study/parity_values.h"
#include "support/tiny_hf.h"
#include "support/tiny_model_file.h"

namespace etch {
namespace {

using testing::HasSubstr;

TEST(MeasureTest, TellsNumbersThatCanBeCheckedByHand) {
  const float a[] = {3, 4, 0, 0}, b[] = {3, 4, 0, 2};
  const Difference d = measure(a, b, 2);
  EXPECT_EQ(d.rows, 2);
  EXPECT_EQ(d.n_different, 1);
  EXPECT_EQ(d.max_abs, 2);
  EXPECT_EQ(d.mean_abs, 0.5);
  EXPECT_NEAR(d.cosine, 25 / (5 * std::sqrt(29.0)), 1e-12);
  EXPECT_EQ(d.worst_row, 1);
  EXPECT_EQ(d.worst_element, 1);
  // Rows are 0 and 2 apart; a row of a is sqrt(25 / 2) on average; the upper median is taken.
  EXPECT_NEAR(d.typical, 2 / std::sqrt(12.5), 1e-12);
}

TEST(MeasureTest, ZerosOfBothSignsAndNumbersThatAreNotFiniteDiffer) {
  const float a[] = {0.0f, NAN, INFINITY, 1}, b[] = {-0.0f, NAN, 1, 1};
  const Difference d = measure(a, b, 4);
  EXPECT_EQ(d.n_different, 2);
  EXPECT_TRUE(std::isinf(d.max_abs));
  EXPECT_EQ(d.worst_element, 2);
}

// Two sides that bring the same keys in other orders, and some that the other never brings.
TEST(MeetingTest, NeitherSideWaitsForEver) {
  int pairs = 0;
  Meeting meeting([&](Meeting::Key key, std::vector<float> a, std::vector<float> b) {
    EXPECT_EQ(a[0], static_cast<float>(key.second));
    EXPECT_EQ(b[0], static_cast<float>(-key.second));
    ++pairs;
  });
  constexpr int kKeys = 500;
  std::thread other([&] {
    for (int i = 0; i < kKeys; ++i) {
      const int key = i % 10 < 5 ? i : i / 10 * 10 + 14 - i % 10;  // backwards in parts
      meeting.bring(1, {0, key}, {static_cast<float>(-key)});
      if (i % 7 == 0) meeting.bring(1, {2, key}, {1});
    }
    meeting.leave(1);
  });
  for (int i = 0; i < kKeys; ++i) {
    meeting.bring(0, {0, i}, {static_cast<float>(i)});
    if (i % 5 == 0) meeting.bring(0, {1, i}, {1});
  }
  meeting.leave(0);
  other.join();
  EXPECT_EQ(pairs, kKeys);
}

EngineOptions small_options(int threads = 2) {
  EngineOptions options;
  options.compile.limits = {.n_ctx = 256, .n_rows = 64, .n_outputs = 0};
  options.session.n_threads = threads;
  return options;
}

std::vector<int32_t> some_tokens(int64_t n) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < n; ++i) tokens.push_back(static_cast<int32_t>((i * 37 + 11) % 250));
  return tokens;
}

Engine load(const std::string& path, const EngineOptions& options) {
  auto engine = load_engine(path, options);
  EXPECT_TRUE(engine) << engine.error().message;
  return std::move(*engine);
}

class ParityTest : public testing::TestWithParam<const char*> {
 protected:
  ParityTest() {
    how_.synth.optional = SynthOptions::Optional::none;
    path_ = test::write_tiny_model(dir_ / "tiny.gguf", GetParam(), how_);
  }
  ParityReport compared(ParityRun& a, ParityRun& b, Promise promise, double tolerance = 0.2) {
    ParityOptions options = {.tokens = some_tokens(26), .promise = promise, .tolerance = tolerance};
    auto report = compare(a, b, options);
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : ParityReport{};
  }

  test::TemporaryDir dir_;
  test::TinyModelOptions how_;
  std::string path_;
};

TEST_P(ParityTest, InstructionSetsAndThreadsGiveTheSameBits) {
  EngineOptions other = small_options(3);
  other.session.isa = ETCH_SCALAR;
  const Engine a = load(path_, small_options(1)), b = load(path_, other);
  const auto run_a = run_of_session(a.compiled, *a.session, "a");
  const auto run_b = run_of_session(b.compiled, *b.session, "b");
  const ParityReport report = compared(*run_a, *run_b, Promise::same_bits);
  EXPECT_EQ(report.n_different, 0);
  EXPECT_EQ(report.n_only_a + report.n_only_b, 0);
  EXPECT_EQ(report.n_steps, 3);
  // Every layer, and the logits of every step.
  std::set<int> layers;
  int logits = 0;
  for (const ComparedValue& v : report.values) {
    layers.insert(v.layer);
    logits += v.value == a.compiled.graph->find_output("logits")->value;
  }
  EXPECT_GE(layers.size(), 3u);
  EXPECT_EQ(logits, 3);
}

TEST_P(ParityTest, KernelsStayNearThePlainEvaluation) {
  const Engine e = load(path_, small_options());
  for (const bool in_double : {false, true}) {
    e.session->clear_cancel();
    const auto kernels = run_of_session(e.compiled, *e.session, "kernels");
    const auto plain = run_of_interpreter(e.compiled, in_double, "plain");
    const ParityReport report = compared(*kernels, *plain, Promise::rounding);
    EXPECT_EQ(report.n_different, 0) << report.first()->what;
    EXPECT_GT(report.values.size(), 30u);
    EXPECT_EQ(report.n_only_a, 0);
    EXPECT_GT(report.n_only_b, 0);
    EXPECT_GT(report.worst()->difference.typical, 0);
  }
}

TEST_P(ParityTest, AnotherCutOfTheStepsGivesTheSameLastRow) {
  EngineOptions one = small_options();
  one.compile.limits.n_rows = 1;
  const Engine a = load(path_, small_options()), b = load(path_, one);
  const auto run_a = run_of_session(a.compiled, *a.session, "a");
  const auto run_b = run_of_session(b.compiled, *b.session, "b");
  ParityOptions options = {.tokens = some_tokens(40), .rows_a = 64, .rows_b = 1};
  const auto report = compare(*run_a, *run_b, options);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->n_different, 0) << report->first()->what;
  EXPECT_GT(report->values.size(), 10u);
  for (const ComparedValue& v : report->values) EXPECT_EQ(v.difference.rows, 1);
}

INSTANTIATE_TEST_SUITE_P(Circuits, ParityTest,
                         testing::Values("llama", "gemma3", "mixtral", "gptoss", "qwen3"));

class ParityFaultTest : public testing::Test {
 protected:
  ParityFaultTest() { path_ = test::write_tiny_model(dir_ / "tiny.gguf", "llama"); }
  test::TemporaryDir dir_;
  std::string path_;
};

// One weight of layer 1 is another in B: the first value that it goes into is named.
TEST_F(ParityFaultTest, TheProductOfAChangedTensorIsNamed) {
  const auto good = read_model(path_);
  ASSERT_TRUE(good);
  const Weight* w = good->find("blk.1.ffn_down.weight");
  ASSERT_NE(w, nullptr);
  auto bytes = read_file(path_, 1 << 30);
  ASSERT_TRUE(bytes);
  for (int64_t i = w->bytes / 2; i < w->bytes / 2 + 36; ++i)
    (*bytes)[static_cast<size_t>(w->offset + i)] ^= 0x11;
  ASSERT_TRUE(write_file(dir_ / "changed.gguf", *bytes).has_value());
  const Engine a = load(path_, small_options()), b = load(dir_ / "changed.gguf", small_options());
  const auto run_a = run_of_session(a.compiled, *a.session, "a");
  const auto run_b = run_of_session(b.compiled, *b.session, "b");
  const auto report = compare(*run_a, *run_b, {.tokens = some_tokens(26)});
  ASSERT_TRUE(report);
  const ComparedValue* first = report->first();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->tensor, "blk.1.ffn_down.weight");
  EXPECT_EQ(first->layer, 1);
  EXPECT_THAT(first->location, HasSubstr("circuits/llama.circuit:"));
  EXPECT_GT(first->difference.max_abs, 0);
  EXPECT_EQ(first->difference.a_near.size(), 8u);

  const auto json = nlohmann::json::parse(print_parity_json(*report));
  EXPECT_EQ(json["schema"], "etch.parity/1");
  EXPECT_EQ(json["first"]["tensor"], "blk.1.ffn_down.weight");
  EXPECT_EQ(json["beyond"], report->n_different);
  EXPECT_EQ(json["values"].size(), report->values.size());
}

// One call of B is another: it is named, not what comes behind it.
TEST_F(ParityFaultTest, AWrongCallIsNamedAgainstThePlainEvaluation) {
  const Engine e = load(path_, small_options());
  auto wrong = std::make_shared<Lowered>(*e.compiled.lowered);
  int32_t node = -1;
  for (CallList* list : {&wrong->decode, &wrong->prefill}) {
    for (Call& call : list->calls) {
      if (call.kernel->args != ArgsKind::attend || call.origin.layer != 1) continue;
      for (size_t i = 0; i < call.args.size(); ++i)
        if (info(call.kernel->args).fields[i].name == "scale") call.args[i] = 2.5f;
      node = call.origin.node;
    }
  }
  ASSERT_GE(node, 0);
  auto session = Session::create(wrong, e.model->bytes(), small_options().session);
  ASSERT_TRUE(session);
  const auto kernels = run_of_session(e.compiled, **session, "kernels");
  const auto plain = run_of_interpreter(e.compiled, false, "plain");
  const auto report =
      compare(*kernels, *plain,
              {.tokens = some_tokens(26), .promise = Promise::rounding, .tolerance = 0.2});
  ASSERT_TRUE(report);
  ASSERT_NE(report->first(), nullptr);
  EXPECT_EQ(report->first()->node, node);
  EXPECT_THAT(report->first()->what, HasSubstr("attention"));
}

TEST_F(ParityFaultTest, TwoQuantisationsAreAlignedByTheirCircuit) {
  test::TinyModelOptions other;
  other.synth.types = {DType::f16};
  const std::string f16 = test::write_tiny_model(dir_ / "f16.gguf", "llama", other);
  const Engine a = load(path_, small_options()), b = load(f16, small_options());
  const std::vector<ValueId> to_a = align(*a.compiled.graph, *b.compiled.graph);
  for (const GraphOutput& o : b.compiled.graph->outputs)
    EXPECT_EQ(to_a[static_cast<size_t>(o.value)], a.compiled.graph->find_output(o.name)->value);
  const auto run_a = run_of_session(a.compiled, *a.session, "a");
  const auto run_b = run_of_session(b.compiled, *b.session, "b");
  const auto report = compare(
      *run_a, *run_b, {.tokens = some_tokens(26), .promise = Promise::nothing, .tolerance = 1e30});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->n_different, 0);
  EXPECT_GT(report->values.size(), 30u);
}

TEST_F(ParityFaultTest, AFailureOfOneRunEndsBoth) {
  const Engine a = load(path_, small_options()), b = load(path_, small_options());
  const auto run_a = run_of_session(a.compiled, *a.session, "the first");
  const auto run_b = run_of_session(b.compiled, *b.session, "the second");
  b.session->cancel();
  const auto report = compare(*run_a, *run_b, {.tokens = some_tokens(26)});
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("the second: cancelled"));
}

// Logits of another implementation.
TEST(ParityReferenceTest, ATinyModelAgreesWithItsMakersNumbers) {
  const test::TinyHf tiny =
      test::read_tiny_hf(std::string(ETCH_SOURCE_DIR) + "/tests/data/tiny-hf/llama");
  const Engine e = load(tiny.model, small_options());
  const std::vector<int32_t>& tokens = tiny.token_ids[0];
  auto report = compare_with_reference(*e.session, tokens, tiny.logits, 1e-3);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->n_different, 0) << report->first()->difference.typical;
  EXPECT_EQ(report->values.size(), tokens.size());
  std::vector<float> wrong = tiny.logits;
  const auto n_vocab = wrong.size() / tokens.size();
  for (size_t i = 0; i < n_vocab; ++i) wrong[2 * n_vocab + i] *= 1.05f;
  report = compare_with_reference(*e.session, tokens, wrong, 1e-3);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->n_different, 1);
  EXPECT_EQ(report->first()->what, "logits of position 2");
  EXPECT_NEAR(report->first()->difference.typical, 0.05 / 1.05, 1e-3);
  wrong.pop_back();
  EXPECT_FALSE(compare_with_reference(*e.session, tokens, wrong, 1e-3));
}

}  // namespace
}  // namespace etch
