// generate(): a prompt becomes an answer, piece by piece. The second of the two functions that tell
// the story.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "session/session.h"
#include "text/grammar/matcher.h"
#include "text/sampler.h"
#include "text/tokenizer.h"

namespace etch {

struct GenerateOptions {
  int64_t max_tokens = -1;              // < 0: until the answer or the context ends
  std::vector<std::string> stop_texts;  // end the answer; they are not part of it
  bool show_special = false;            // print control tokens
  bool ignore_end = false;              // go on behind tokens that end an answer
  Matcher* grammar = nullptr;           // what the answer may be; goes along with it
  std::function<void(const SampleTrace&)> on_draw;  // what the sampler did, before the token is shown
};

enum class StopReason { end_of_answer, stop_text, max_tokens, context_end, caller, cancelled };

struct Generation {
  std::vector<int32_t> tokens;  // of the answer, without the one that ended it
  StopReason reason = StopReason::end_of_answer;
  int64_t prompt_tokens = 0, reused_tokens = 0;  // of the prompt, kept from the turn before
  double prompt_seconds = 0, answer_seconds = 0;
};

// Valid UTF-8, as soon as it can be shown; false stops the generation.
using OnText = std::function<bool(std::string_view piece)>;
using OnPrompt = std::function<void(int64_t done, int64_t total)>;

// Continues `sequence` so that it holds the prompt and its answer. What the sequence and the prompt
// have in common is not computed again. Cancellation of the session ends it with what there is.
Result<Generation> generate(Session& session, SequenceId sequence, const Tokenizer& tokenizer,
                            Sampler& sampler, std::span<const int32_t> prompt,
                            const GenerateOptions& options, const OnText& on_text,
                            const OnPrompt& on_prompt = {});

// Runs tokens behind what the sequence holds, in steps as large as the session allows, and gives
// the logits behind the last one: the start of every generation.
Result<std::span<const float>> prefill(Session& session, SequenceId sequence,
                                       std::span<const int32_t> tokens,
                                       const OnPrompt& on_prompt = {});

}  // namespace etch
