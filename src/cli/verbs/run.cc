// etch run: a prompt and its answer.
#include <memory>

#include "cli/engine_options.h"
#include "cli/input_text.h"
#include "cli/interrupt.h"
#include "cli/load_model.h"
#include "cli/parser.h"
#include "cli/render.h"
#include "cli/sampling_options.h"
#include "cli/verb.h"
#include "engine/generate.h"

namespace etch::cli {
namespace {

// Without -n an answer ends where the model ends it; raw text has no such place.
constexpr int64_t kRawTokens = 256;

struct Flags {
  std::string system;
  ModelFlags model;
  TextFlags text;
  EngineFlags engine;
  SamplingFlags sampling;
  std::vector<std::string> stops;
  int64_t n = -1;
  bool raw = false, special = false, no_special = false, stats = false;
};

Result<std::vector<int32_t>> prompt_tokens(const Engine& engine, const Flags& flags,
                                           std::string text) {
  if (flags.raw || !engine.chat) {
    return engine.tokenizer->encode(text, {.parse_special = !flags.no_special});
  }
  if (text.ends_with('\n')) text.pop_back();  // of `echo ... | etch run`
  std::vector<ChatMessage> messages;
  if (!flags.system.empty()) messages.push_back({"system", flags.system});
  messages.push_back({"user", std::move(text)});
  return chat_prompt(engine, messages);
}

void print_statistics(const Generation& g, const Session& session) {
  const auto rate = [](int64_t n, double seconds) {
    return seconds > 0 ? static_cast<double>(n) / seconds : 0;
  };
  const auto n = static_cast<int64_t>(g.tokens.size());
  print_note(fmt::format(
      "prompt {} tokens in {:.2f} s ({:.1f} per second), answer {} tokens in {:.2f} s ({:.1f} per "
      "second), {} threads, {}",
      g.prompt_tokens, g.prompt_seconds, rate(g.prompt_tokens, g.prompt_seconds), n,
      g.answer_seconds, rate(n, g.answer_seconds), session.n_threads(), isa_name(session.isa())));
}

// An answer that the context's end cut off is an answer; that it was cut off is said.
int exit_code(const Generation& g, const Session& session) {
  if (g.reason == StopReason::cancelled) return static_cast<int>(ErrorKind::cancelled);
  if (g.reason == StopReason::context_end) {
    print_warning(
        fmt::format("the context of {} positions is full; the answer is cut off there\n"
                    "  a larger --ctx holds more",
                    session.lowered().limits.n_ctx));
  }
  return 0;
}

Result<int> run(const Parser& parser, const Flags& flags) {
  // The text first: a mistake there should not wait for the model.
  auto text = ETCH_TRY(given_text(parser, flags.text));
  EngineOptions options = ETCH_TRY(engine_options(flags.engine));
  Engine engine = ETCH_TRY(load_model(flags.model, flags.engine, options));
  for (const std::string& w : engine.warnings) print_warning(w);
  if (!text) text = ETCH_TRY(standard_input());

  const bool raw = flags.raw || !engine.chat;
  if (raw && !flags.system.empty())
    print_warning("--system is for chats; the raw text stands alone");
  const std::vector<int32_t> prompt = ETCH_TRY(prompt_tokens(engine, flags, std::move(*text)));
  Sampler sampler = ETCH_TRY(make_sampler(flags.sampling, *engine.tokenizer));
  std::optional<Matcher> grammar = ETCH_TRY(make_matcher(flags.sampling, *engine.tokenizer));
  Session& session = *engine.session;
  const SequenceId sequence = ETCH_TRY(session.create_sequence());
  GenerateOptions how;
  how.max_tokens = flags.n >= 0 ? flags.n : raw ? kRawTokens : -1;
  how.stop_texts = flags.stops;
  how.show_special = flags.special;
  if (grammar) how.grammar = &*grammar;
  if (flags.sampling.explain)
    how.on_draw = [&](const SampleTrace& trace) { print_draw(trace, *engine.tokenizer); };

  Interrupt interrupt(session);
  Status written;
  bool ends_line = true;
  std::unique_ptr<Progress> progress =
      std::make_unique<Progress>("prompt: token", static_cast<int64_t>(prompt.size()));
  const Generation answer = ETCH_TRY(generate(
      session, sequence, *engine.tokenizer, sampler, prompt, how,
      [&](std::string_view piece) {
        progress.reset();
        ends_line = piece.ends_with('\n');
        written = put(piece);
        return written.has_value();
      },
      [&](int64_t done, int64_t) {
        if (progress) progress->update(done);
      }));
  progress.reset();
  ETCH_TRY(std::move(written));
  if (!ends_line && is_terminal(stdout)) ETCH_TRY(put("\n"));
  if (flags.stats) print_statistics(answer, session);
  return exit_code(answer, session);
}

}  // namespace

Action setup_run(Parser& parser) {
  parser.describe(
      "Lets a model answer a prompt. The answer goes to standard output, nothing else does.",
      "  etch run model.gguf -p \"Why is the sky blue?\"\n"
      "  etch run model.gguf -p \"Once upon a time\" --raw -n 100 --temp 0\n"
      "  cat letter.txt | etch run model.gguf --system \"Summarise in one sentence.\"");
  auto flags = std::make_shared<Flags>();
  add_model_options(parser, flags->model);
  add_text_options(parser, flags->text);
  parser.number("-n,--max-tokens", flags->n, "tokens of the answer (default: to its end; raw: 256)",
                0);
  parser.flag("--raw", flags->raw, "the text as it is, without the chat template");
  parser.text("--system", flags->system, "TEXT", "system message of the chat");
  parser.texts("--stop", flags->stops, "TEXT", "text that ends the answer (may be repeated)");
  parser.flag("--special", flags->special, "show control tokens in the answer");
  parser.flag("--no-special", flags->no_special, "control tokens in raw text are plain text");
  parser.flag("--stats", flags->stats, "speed, on standard error");
  add_sampling_options(parser, flags->sampling);
  add_engine_options(parser, flags->engine);
  return [flags, &parser] { return run(parser, *flags); };
}

}  // namespace etch::cli
