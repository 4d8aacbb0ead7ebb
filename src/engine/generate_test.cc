// generate() on a made-up model whose tokens are bytes.
#include "engine/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "support/temporary_dir.h"
#include "support/tiny_model_file.h"

namespace etch {
namespace {

class Generate : public testing::Test {
 protected:
  Generate() {
    test::TinyModelOptions tiny;
    tiny.synth.types = {DType::q8_0};
    const std::string path = test::write_tiny_model(folder_ / "tiny.gguf", "llama", tiny);
    EngineOptions options;
    options.compile.limits = {.n_ctx = 512, .n_rows = 64, .n_outputs = 1};
    options.session.n_threads = 2;
    auto engine = load_engine(path, options);
    EXPECT_TRUE(engine) << (engine ? "" : engine.error().message);
    if (engine) engine_.emplace(std::move(*engine));
  }

  Session& session() { return *engine_->session; }
  std::vector<int32_t> tokens(std::string_view text) {
    return *engine_->tokenizer->encode(std::string(text), {});
  }
  Result<Generation> answer(SequenceId sequence, const std::vector<int32_t>& prompt,
                            GenerateOptions options = {.max_tokens = 12, .ignore_end = true}) {
    Sampler sampler = *make_sampler({.temperature = 0});
    said_.clear();
    return generate(session(), sequence, *engine_->tokenizer, sampler, prompt, options,
                    [&](std::string_view piece) {
                      said_ += piece;
                      return true;
                    });
  }

  test::TemporaryDir folder_;
  std::optional<Engine> engine_;
  std::string said_;
};

// A chat: the second prompt is the first, its answer, and something new.
TEST_F(Generate, keeps_what_two_turns_have_in_common) {
  const SequenceId chat = *session().create_sequence();
  const std::vector<int32_t> first = tokens("user: hello, who are you and what do you do?\n");
  const auto turn = answer(chat, first);
  ASSERT_TRUE(turn) << turn.error().message;
  EXPECT_EQ(turn->reused_tokens, 0);
  ASSERT_EQ(turn->tokens.size(), 12u);

  std::vector<int32_t> second = first;
  second.insert(second.end(), turn->tokens.begin(), turn->tokens.end());
  for (int32_t id : tokens("user: and why?\n")) second.push_back(id);
  const auto next = answer(chat, second);
  ASSERT_TRUE(next) << next.error().message;
  // The answer's last token was drawn and shown, but never run.
  EXPECT_EQ(next->reused_tokens, std::ssize(first) + 11);
  EXPECT_EQ(next->prompt_tokens, std::ssize(second));
  const std::string said = said_;

  // The same as a sequence that never saw the first turn.
  const auto afresh = answer(*session().create_sequence(), second);
  ASSERT_TRUE(afresh) << afresh.error().message;
  EXPECT_EQ(afresh->reused_tokens, 0);
  EXPECT_EQ(afresh->tokens, next->tokens);
  EXPECT_EQ(said_, said);
}

TEST_F(Generate, goes_back_to_where_another_prompt_parts) {
  const SequenceId chat = *session().create_sequence();
  const std::vector<int32_t> one = tokens("once upon a time there was a bear");
  const std::vector<int32_t> other = tokens("once upon a time there were two hares");
  ASSERT_TRUE(answer(chat, one));
  const auto next = answer(chat, other);
  ASSERT_TRUE(next) << next.error().message;
  const auto common = std::mismatch(one.begin(), one.end(), other.begin()).first - one.begin();
  EXPECT_EQ(next->reused_tokens, common);
  const auto afresh = answer(*session().create_sequence(), other);
  ASSERT_TRUE(afresh) << afresh.error().message;
  EXPECT_EQ(afresh->tokens, next->tokens);

  // The same prompt again: its last token runs anew, for its logits.
  const auto again = answer(chat, other);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->reused_tokens, std::ssize(other) - 1);
  EXPECT_EQ(again->tokens, next->tokens);
}

TEST_F(Generate, refuses_prompts_that_cannot_run) {
  const SequenceId s = *session().create_sequence();
  const auto empty = answer(s, {});
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().kind, ErrorKind::usage);
  EXPECT_EQ(empty.error().message, "the prompt has no tokens");
  const auto large = answer(s, std::vector<int32_t>(513, 5));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().kind, ErrorKind::resources);
  EXPECT_EQ(
      large.error().message,
      "the prompt has 513 tokens, the context holds 512\n  a larger --ctx holds it, a shorter "
      "prompt fits");
  EXPECT_EQ(session().length(s), 0);
  EXPECT_FALSE(answer(99, {1}));
}

TEST_F(Generate, ends_with_the_context) {
  const SequenceId s = *session().create_sequence();
  const auto g = answer(s, std::vector<int32_t>(510, 5), {.ignore_end = true});
  ASSERT_TRUE(g) << g.error().message;
  EXPECT_EQ(g->reason, StopReason::context_end);
  EXPECT_EQ(g->tokens.size(), 3u);  // the last one needs no position
  EXPECT_EQ(session().length(s), 512);
}

TEST_F(Generate, ends_with_what_there_is_when_cancelled) {
  const SequenceId s = *session().create_sequence();
  Sampler sampler = *make_sampler({.temperature = 0});
  int pieces = 0;
  const auto g = generate(session(), s, *engine_->tokenizer, sampler, tokens("hello there"),
                          {.show_special = true, .ignore_end = true}, [&](std::string_view) {
                            if (++pieces == 3) session().cancel();
                            return true;
                          });
  ASSERT_TRUE(g) << g.error().message;
  EXPECT_EQ(g->reason, StopReason::cancelled);
  EXPECT_GE(g->tokens.size(), 3u);
  session().clear_cancel();
  EXPECT_TRUE(answer(s, tokens("hello again")));
}

}  // namespace
}  // namespace etch
