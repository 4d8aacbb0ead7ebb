// Printed C of made-up models of every circuit that runs: it compiles without a warning, a
// formatter leaves it as it is, printing again gives the same bytes, and it gives the same bits as
// the executor: prompts and decoding, one thread and two, every instruction set.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

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

constexpr int64_t kTokens = 150;  // past a page, past the windows of made-up models

struct Case {
  std::string name;
  const char* circuit;
  SynthOptions synth;
};
const std::vector<DType> kMix = {DType::q4_1, DType::q8_0, DType::q4_k, DType::q6_k,
                                 DType::f16,  DType::bf16, DType::q5_0};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* circuit : {"llama", "qwen2", "qwen3", "gemma3", "mixtral"}) {
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
    auto compiled =
        compile(model_, {.limits = {.n_ctx = 256, .n_rows = 64, .n_outputs = 64, .n_threads = 2}});
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
  for (int isa = ETCH_SCALAR; isa < ETCH_ISA_COUNT; ++isa) {
    if (!cpu_has(static_cast<etch_isa>(isa))) continue;
    for (const int32_t n_threads : {1, 2}) {
      const auto compiled =
          session({.n_threads = n_threads, .isa = static_cast<etch_isa>(isa), .library = *library});
      EXPECT_EQ(run(*compiled, tokens, 64), expected) << isa << ", " << n_threads << ", prompt";
      EXPECT_EQ(run(*compiled, tokens, 1), expected) << isa << ", " << n_threads << ", decode";
      EXPECT_EQ(run(*compiled, tokens, 37), expected) << isa << ", " << n_threads << ", chunks";
    }
  }
}

TEST_P(PrintedC, IsTheSameEveryTime) { EXPECT_EQ(*print_c(*compiled_.lowered, options_), text_); }

TEST_P(PrintedC, StaysAsItIsWhenFormatted) {
  if (!run_program({"clang-format", "--version"})) GTEST_SKIP() << "there is no clang-format";
  const std::string style = "--style=file:" ETCH_SOURCE_DIR "/.clang-format";
  for (const char* name : {"model.c", "model.h"}) {
    const auto formatted = run_program({"clang-format", style, path(name)});
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
