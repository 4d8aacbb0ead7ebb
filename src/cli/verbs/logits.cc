// etch logits: teacher-forced predictions. What follows the text does not matter to what is
// predicted.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.h"
#include "base/utf8.h"
#include "cli/engine_options.h"
#include "cli/input_text.h"
#include "cli/interrupt.h"
#include "cli/load_model.h"
#include "cli/parser.h"
#include "cli/render.h"
#include "cli/verb.h"
#include "engine/engine.h"
#include "text/sampler.h"

namespace etch::cli {
namespace {

struct Flags {
  std::string tokens, output;
  ModelFlags model;
  TextFlags text;
  EngineFlags engine;
  int64_t top = 5;
  bool json = false, no_bos = false, no_special = false;
};

using Top = std::vector<std::vector<TokenLogprob>>;  // of each position

// Runs all tokens; hands the logits of each position to `take`, in order.
Status run_tokens(Session& session, std::span<const int32_t> tokens,
                  const std::function<Status(std::span<const float>)>& take) {
  const SequenceId sequence = ETCH_TRY(session.create_sequence());
  const auto total = static_cast<int64_t>(tokens.size());
  const auto n_vocab = static_cast<size_t>(session.n_vocab());
  const int64_t chunk = std::min(session.max_rows(), session.max_outputs());
  Progress progress("token", total);
  std::vector<BatchRow> rows;
  for (int64_t done = 0; done < total; done += std::ssize(rows)) {
    rows.clear();
    for (int64_t p = done; p < std::min(total, done + chunk); ++p) {
      rows.push_back({tokens[static_cast<size_t>(p)], sequence, static_cast<int32_t>(p), true});
    }
    const StepResult result = ETCH_TRY(session.step(rows));
    for (size_t i = 0; i < rows.size(); ++i)
      ETCH_TRY(take(result.logits.subspan(i * n_vocab, n_vocab)));
    progress.update(done + std::ssize(rows));
  }
  return {};
}

Status print_json(std::span<const int32_t> tokens, const Top& top) {
  nlohmann::ordered_json positions = nlohmann::ordered_json::array();
  for (size_t p = 0; p < top.size(); ++p) {
    nlohmann::ordered_json best = nlohmann::ordered_json::array();
    for (const TokenLogprob& t : top[p]) best.push_back({t.id, t.logprob});
    positions.push_back({{"position", p}, {"top", std::move(best)}});
  }
  return put_json({{"schema", "etch.logits/1"},
                   {"token_ids", std::vector<int32_t>(tokens.begin(), tokens.end())},
                   {"positions", std::move(positions)}});
}

Status print_table(const Tokenizer* tokenizer, std::span<const int32_t> tokens, const Top& top) {
  const auto word = [&](int32_t id) {
    return tokenizer ? fmt::format("{} {}", id, quote(tokenizer->token_bytes(id, true), 24))
                     : fmt::format("{}", id);
  };
  std::vector<std::vector<std::string>> rows;
  size_t columns = 2;
  for (size_t p = 0; p < top.size(); ++p) {
    std::vector<std::string> row = {fmt::format("{}", p), word(tokens[p])};
    for (const TokenLogprob& t : top[p])
      row.push_back(fmt::format("{} {:.3f}", word(t.id), t.logprob));
    columns = std::max(columns, row.size());
    rows.push_back(std::move(row));
  }
  return put(table(rows, "r" + std::string(columns - 1, 'l')));
}

Result<int> run(const Parser& parser, const Flags& flags) {
  const bool ids_given = parser.given("--tokens");
  auto text = ETCH_TRY(given_text(parser, flags.text));
  if (ids_given == text.has_value())
    return fail(ErrorKind::usage, "give one of --tokens, -p and -f");
  std::vector<int32_t> tokens;
  if (ids_given) tokens = ETCH_TRY(parse_ids(flags.tokens).context("--tokens"));

  EngineOptions options = ETCH_TRY(engine_options(flags.engine));
  options.compile.limits.n_outputs = 0;  // all rows, as many at a time as memory allows
  options.needs_text = !ids_given;
  Engine engine = ETCH_TRY(load_model(flags.model, flags.engine, options));
  for (const std::string& w : engine.warnings) print_warning(w);
  if (text) {
    tokens = ETCH_TRY(engine.tokenizer->encode(
        *text, {.add_special = !flags.no_bos, .parse_special = !flags.no_special}));
  }
  if (tokens.empty()) return fail(ErrorKind::usage, "there are no tokens");
  Session& session = *engine.session;
  if (session.n_vocab() == 0) return fail(ErrorKind::unsupported, "the circuit gives no logits");
  const int64_t n_ctx = session.lowered().limits.n_ctx;
  if (std::ssize(tokens) > n_ctx) {
    return fail(ErrorKind::resources,
                "there are {} tokens, the context holds {}\n  --ctx {} holds them", tokens.size(),
                n_ctx, tokens.size());
  }

  const bool prints = flags.json || parser.given("--top") || flags.output.empty();
  std::optional<FileWriter> file;
  if (!flags.output.empty()) file.emplace(ETCH_TRY(FileWriter::create(flags.output)));
  Top top;
  Interrupt interrupt(session);
  ETCH_TRY(run_tokens(session, tokens, [&](std::span<const float> logits) -> Status {
    if (prints) top.push_back(top_logprobs(logits, flags.top));
    if (!file) return {};
    return file->write(
        std::span(reinterpret_cast<const uint8_t*>(logits.data()), logits.size_bytes()));
  }));
  if (file) ETCH_TRY(file->commit());
  if (prints) {
    ETCH_TRY(flags.json ? print_json(tokens, top)
                        : print_table(engine.tokenizer.get(), tokens, top));
  }
  return 0;
}

}  // namespace

Action setup_logits(Parser& parser) {
  parser.describe("What a model expects after every token of a text (teacher-forced).",
                  "  etch logits model.gguf -p \"The capital of France is\" --top 3\n"
                  "  etch logits model.gguf --tokens 1,2,3 -o logits.f32\n"
                  "  etch logits model.gguf -f text.txt --top 20 --json --ubatch 1");
  auto flags = std::make_shared<Flags>();
  add_model_options(parser, flags->model);
  parser.text("--tokens", flags->tokens, "IDS", "the text as token ids");
  add_text_options(parser, flags->text);
  parser.text("-o,--output", flags->output, "FILE",
              "write float32 [n_tokens, n_vocab], little-endian");
  parser.number("--top", flags->top, "print the K likeliest (default 5) with natural logarithms",
                1);
  parser.flag("--json", flags->json, "as JSON (etch.logits/1)");
  parser.flag("--no-bos", flags->no_bos, "add neither BOS nor EOS");
  parser.flag("--no-special", flags->no_special, "texts of control tokens are plain text");
  add_engine_options(parser, flags->engine);
  return [flags, &parser] { return run(parser, *flags); };
}

}  // namespace etch::cli
