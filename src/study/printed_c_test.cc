// Printed C of made-up models of every circuit that runs: it compiles without a warning, a
// formatter leaves it as it is, printing again gives the same bytes, and it gives the same bits as
// the executor: prompts and decoding, every instruction set of the machine on two threads, the best
// one on 1, 2, 3 and 8.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "base/file.h"
#include "base/random.h"
#include "circuit/library.h"
#include "code/print_c.h"
#include "code/toolchain.h"
#include "compile/code_options.h"
#include "compile/compile.h"
#include "session/library.h"
#include "session/session.h"
#include "study/synth_model.h"
#include "support/temporary_dir.h"

namespace etch {
namespace {

constexpr int64_t kTokens = 150;    // past a page, past the windows of made-up models
constexpr int64_t kFewTokens = 40;  // still a prefill
constexpr int64_t kDecodedTokens = 6;
constexpr int32_t kMostThreads = 8;

struct Case {
  std::string name;
  const char* circuit;
  SynthOptions synth;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
const std::vector<DType> kMix = {DType::q4_1, DType::q8_0, DType::q4_k, DType::q6_k,
                                 DType::f16,  DType::bf16, DType::q5_0};

// The circuits that run.
constexpr const char* kCircuits[] = {"llama",   "qwen2",  "qwen3",   "gemma3",
                                     "gemma3n", "gemma4", "mixtral", "gptoss", "nemotron_h"};
// Compiles, but its decoder reads what its encoder left, and no session runs encoders yet.
constexpr std::string_view kHalf = "t5";

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* circuit : kCircuits) {
    all.push_back({fmt::format("{}_f32", circuit), circuit, {.seed = 1}});
    all.push_back({fmt::format("{}_mix", circuit),
                   circuit,
                   {.seed = 2,
                    .types = kMix,
                    .optional = SynthOptions::Optional::drawn,
                    .width = 256,
                    .n_layers = 4}});
    all.push_back({fmt::format("{}_packed", circuit),
                   circuit,
                   {.seed = 3,
                    .types = kMix,
                    .optional = SynthOptions::Optional::none,
                    .packed = true,
                    .pieces = true,
                    .n_layers = 3}});
  }
  return all;
}

std::vector<float> run(Session& session, std::span<const int32_t> tokens, int64_t chunk) {
  std::vector<float> all;
  std::vector<BatchRow> rows;
  const SequenceId sequence = *session.create_sequence();
  for (int64_t done = 0; done < std::ssize(tokens); done += std::ssize(rows)) {
    rows.clear();
    for (int64_t i = done; i < std::min<int64_t>(std::ssize(tokens), done + chunk); ++i)
      rows.push_back({tokens[static_cast<size_t>(i)], sequence, static_cast<int32_t>(i), true});
    const auto result = session.step(rows);
    EXPECT_TRUE(result) << result.error().message;
    if (!result) break;
    all.insert(all.end(), result->logits.begin(), result->logits.end());
  }
  session.remove(sequence);
  return all;
}

class PrintedC : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const auto library = load_library();
    ASSERT_TRUE(library);
    auto model = synth_model(*library->find(GetParam().circuit), GetParam().synth);
    ASSERT_TRUE(model) << model.error().message;
    model_ = *model;
    const CompileOptions how = {
        .limits = {.n_ctx = 256, .n_rows = 64, .n_outputs = 64, .n_threads = kMostThreads}};
    auto compiled = compile(model_, how);
    if (!compiled && compiled.error().kind == ErrorKind::unsupported) {
      // Heads that rank texts do not run yet; a file may lack them.
      SynthOptions plain = GetParam().synth;
      plain.optional = SynthOptions::Optional::none;
      model_ = *synth_model(*library->find(GetParam().circuit), plain);
      compiled = compile(model_, how);
    }
    ASSERT_TRUE(compiled) << compiled.error().message;
    compiled_ = std::move(*compiled);
    const auto options = code_options_of(compiled_, "0.0.0");
    ASSERT_TRUE(options) << options.error().message;
    options_ = *options;
    const auto text = print_c(*compiled_.lowered, options_);
    ASSERT_TRUE(text) << text.error().message;
    text_ = *text;
    ASSERT_TRUE(write_file(path("model.c"), text_));
    const auto header = print_h(*compiled_.lowered, options_);
    ASSERT_TRUE(header);
    ASSERT_TRUE(write_file(path("model.h"), *header));
  }
  std::string path(const char* name) const { return dir_ / name; }

  test::TemporaryDir dir_;
  std::shared_ptr<const Model> model_;
  Compiled compiled_;
  CodeOptions options_;
  std::string text_;
};

TEST_P(PrintedC, GivesTheBitsOfTheExecutor) {
  const auto toolchain = find_toolchain();
  if (!toolchain) GTEST_SKIP() << toolchain.error().message;
  Toolchain strict = *toolchain;
  for (const char* flag : {"-Wall", "-Wextra", "-Wconversion", "-Werror"})
    strict.compile_flags.emplace_back(flag);
  const Status built = build_library(dir_.path(), strict);
  ASSERT_TRUE(built) << built.error().message;
  const auto library = Library::open(path("libmodel.so"));
  ASSERT_TRUE(library) << library.error().message;

  Random random(7);
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < kTokens; ++i)
    tokens.push_back(static_cast<int32_t>(random.below(GetParam().synth.n_vocab)));
  const auto session = [&](SessionOptions how) {
    auto made = Session::create(compiled_.lowered, model_->bytes(), how);
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
  };
  const std::vector<float> expected = run(*session({.n_threads = 2}), tokens, 64);
  ASSERT_EQ(std::ssize(expected), kTokens * GetParam().synth.n_vocab);
  const auto first = [&](int64_t n) { return std::span(tokens).first(static_cast<size_t>(n)); };
  const auto logits_of_first = [&](int64_t n) {
    return std::vector<float>(expected.begin(), expected.begin() + n * GetParam().synth.n_vocab);
  };
  for (int i = ETCH_SCALAR; i < ETCH_ISA_COUNT; ++i) {
    const auto isa = static_cast<etch_isa>(i);
    if (!cpu_has(isa)) {
      std::cout << "not run: " << isa_name(isa) << ", which this machine does not have\n";
      continue;
    }
    for (int32_t n_threads = 1; n_threads <= kMostThreads; ++n_threads) {
      if (isa == best_isa() ? n_threads > 3 && n_threads != kMostThreads : n_threads != 2) continue;
      SCOPED_TRACE(fmt::format("{}, {} threads", isa_name(isa), n_threads));
      const auto compiled = session({.n_threads = n_threads, .isa = isa, .library = *library});
      EXPECT_TRUE(run(*compiled, first(kFewTokens), 64) == logits_of_first(kFewTokens)) << "prompt";
      EXPECT_TRUE(run(*compiled, first(kDecodedTokens), 1) == logits_of_first(kDecodedTokens))
          << "decode";
      if (isa != best_isa() || n_threads != 2) continue;
      EXPECT_TRUE(run(*compiled, tokens, 64) == expected) << "prompt past a page";
      EXPECT_TRUE(run(*compiled, tokens, 1) == expected) << "decode past a page";
      EXPECT_TRUE(run(*compiled, tokens, 37) == expected) << "chunks";
    }
  }
}

// What the list above lacks does not run at all; who makes it run adds it there.
TEST(PrintedCCircuits, AreAllThatRun) {
  const auto library = load_library();
  ASSERT_TRUE(library);
  for (const auto& circuit : library->places.back().circuits) {
    const std::string name = circuit->name.text;
    const bool is_listed = std::any_of(std::begin(kCircuits), std::end(kCircuits),
                                       [&](const char* listed) { return name == listed; });
    if (is_listed || name == kHalf) continue;
    const auto model = synth_model(*circuit);
    const auto compiled = model ? compile(*model, {.limits = {.n_ctx = 256, .n_rows = 64}})
                                : Result<Compiled>(tl::unexpected(model.error()));
    EXPECT_FALSE(compiled) << name << " runs";
  }
}

TEST_P(PrintedC, IsTheSameEveryTime) { EXPECT_EQ(*print_c(*compiled_.lowered, options_), text_); }

TEST_P(PrintedC, StaysAsItIsWhenFormatted) {
  std::string formatter;
  for (const char* name : {"clang-format", "clang-format-14"})
    if (formatter.empty() && run_program({name, "--version"})) formatter = name;
  if (formatter.empty()) GTEST_SKIP() << "there is no clang-format";
  const std::string style = "--style=file:" ETCH_SOURCE_DIR "/.clang-format";
  for (const char* name : {"model.c", "model.h"}) {
    const auto formatted = run_program({formatter, style, path(name)});
    ASSERT_TRUE(formatted) << formatted.error().message;
    ASSERT_TRUE(write_file(path("formatted"), *formatted));
    const auto same = run_program({"diff", "-u", path(name), path("formatted")});
    EXPECT_TRUE(same) << same.error().message;
  }
}

INSTANTIATE_TEST_SUITE_P(Circuits, PrintedC, testing::ValuesIn(cases()),
                         [](const auto& p) { return p.param.name; });

}  // namespace
}  // namespace etch
