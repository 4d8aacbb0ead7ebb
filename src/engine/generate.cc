#include "engine/generate.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "engine/stop_texts.h"

namespace etch {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Status check_prompt(const Session& session, std::span<const int32_t> prompt) {
  const int64_t n_ctx = session.lowered().limits.n_ctx;
  const auto n = static_cast<int64_t>(prompt.size());
  if (n == 0) return fail(ErrorKind::usage, "the prompt has no tokens");
  if (n > n_ctx) {
    return fail(ErrorKind::resources,
                "the prompt has {} tokens, the context holds {}\n  a larger --ctx holds it, a "
                "shorter prompt fits",
                n, n_ctx);
  }
  return {};
}

// The next token, taken by the sampler and by the grammar.
Result<int32_t> draw(Sampler& sampler, std::span<const float> logits,
                     const GenerateOptions& options) {
  std::span<const uint64_t> allowed;
  if (options.grammar) allowed = ETCH_TRY(options.grammar->mask());
  SampleTrace trace;
  const int32_t id =
      ETCH_TRY(sampler.sample(logits, allowed, options.on_draw ? &trace : nullptr));
  sampler.accept(id);
  if (options.grammar) ETCH_TRY(options.grammar->accept(id));
  if (options.on_draw) options.on_draw(trace);
  return id;
}

}  // namespace

Result<std::span<const float>> prefill(Session& session, SequenceId sequence,
                                       std::span<const int32_t> tokens, const OnPrompt& on_prompt) {
  std::vector<BatchRow> rows;
  std::span<const float> logits;
  const auto total = static_cast<int64_t>(tokens.size());
  for (int64_t done = 0; done < total;) {
    rows.clear();
    const int64_t n = std::min(session.max_rows(), total - done);
    const auto first = static_cast<int32_t>(session.length(sequence));
    for (int64_t i = 0; i < n; ++i) {
      rows.push_back({.token = tokens[static_cast<size_t>(done + i)],
                      .sequence = sequence,
                      .position = first + static_cast<int32_t>(i),
                      .wants_output = done + i + 1 == total});
    }
    logits = ETCH_TRY(session.step(rows)).logits;
    done += n;
    if (on_prompt) on_prompt(done, total);
  }
  return logits;
}

Result<Generation> generate(Session& session, SequenceId sequence, const Tokenizer& tokenizer,
                            Sampler& sampler, std::span<const int32_t> prompt,
                            const GenerateOptions& options, const OnText& on_text,
                            const OnPrompt& on_prompt) {
  Generation result;
  const auto end_with = [&](StopReason reason) { result.reason = reason; };
  TextStream stream(tokenizer, options.show_special);
  StopTexts filter(options.stop_texts);

  // The prompt, but for what the turn before left.
  ETCH_TRY(check_prompt(session, prompt));
  auto start = Clock::now();
  result.prompt_tokens = static_cast<int64_t>(prompt.size());
  result.reused_tokens = ETCH_TRY(session.reuse_prefix(sequence, prompt));
  for (int32_t id : prompt) sampler.accept(id);
  auto logits = prefill(session, sequence,
                        prompt.subspan(static_cast<size_t>(result.reused_tokens)), on_prompt);
  result.prompt_seconds = seconds_since(start);

  // The answer, token by token: draw, show, run.
  start = Clock::now();
  while (true) {
    if (!logits) {
      if (logits.error().kind != ErrorKind::cancelled)
        return tl::unexpected(std::move(logits).error());
      end_with(StopReason::cancelled);
      break;
    }
    if (options.max_tokens == 0) {
      end_with(StopReason::max_tokens);
      break;
    }
    if (options.grammar && options.grammar->must_end()) {
      end_with(StopReason::end_of_answer);
      break;
    }
    const int32_t id = ETCH_TRY(draw(sampler, *logits, options));
    if (tokenizer.is_end_of_generation(id) && !options.ignore_end) {
      end_with(StopReason::end_of_answer);
      break;
    }
    result.tokens.push_back(id);
    const std::string piece = filter.push(stream.push(id));
    if (!piece.empty() && !on_text(piece)) {
      end_with(StopReason::caller);
      break;
    }
    if (filter.found()) {
      end_with(StopReason::stop_text);
      break;
    }
    if (std::ssize(result.tokens) == options.max_tokens) {
      end_with(StopReason::max_tokens);
      break;
    }
    if (session.length(sequence) >= session.lowered().limits.n_ctx) {
      end_with(StopReason::context_end);
      break;
    }
    logits = prefill(session, sequence, std::span(&id, 1));
  }
  if (result.reason != StopReason::caller) {
    const std::string rest = filter.push(stream.finish()) + filter.finish();
    if (!rest.empty()) on_text(rest);
  }
  result.answer_seconds = seconds_since(start);
  return result;
}

}  // namespace etch
