#include "study/canary.h"

#include <algorithm>

#include "base/hash.h"
#include "base/random.h"
#include "study/read_json.h"
#include "study/sidecar_parts.h"

namespace etch {
namespace {

constexpr size_t kTop = 5;
constexpr int64_t kMore = 6;  // greedy steps behind a prompt

// Plain words, numbers, code, accents, another script, and long enough for 140 tokens of any
// vocabulary.
constexpr std::string_view kText =
    "The kettle boils at 100 degrees, but only at sea level; on a mountain of 3,000 metres it "
    "boils "
    "at about 90. Why? Because the air presses less on the water.\n\nfor (int i = 0; i < 10; ++i) "
    "{ "
    "sum += a[i] * b[i]; }  // a dot product\n\nElle dit : « déjà vu, naïve, cœur ». Straße, "
    "smörgåsbord, "
    "Γειά σου, привет, 你好，世界！ ありがとう。 The quick brown fox jumps over the lazy dog, and "
    "the dog, "
    "who has seen this a thousand times before, does not so much as open an eye. Once upon a time "
    "there was a machine that could only add, and it was asked what it would like to learn next.";

std::vector<int32_t> drawn_ids(int64_t n, int64_t n_vocab, uint64_t seed) {
  Random random(seed);
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < n; ++i)
    ids.push_back(
        static_cast<int32_t>(random.below(static_cast<uint64_t>(std::max<int64_t>(1, n_vocab)))));
  return ids;
}

std::span<const float> output_of(const StepResult& result, int64_t n_vocab) {
  return n_vocab > 0 ? result.logits : result.hidden;
}

CanaryStep step_of(std::span<const float> row, int64_t position) {
  CanaryStep step;
  step.position = position;
  step.hash = xxh3_hex({reinterpret_cast<const uint8_t*>(row.data()), row.size_bytes()});
  std::vector<int32_t> ids(row.size());
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(i);
  const size_t n = std::min(kTop, ids.size());
  std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(n), ids.end(),
                    [&](int32_t a, int32_t b) {
                      const float x = row[static_cast<size_t>(a)], y = row[static_cast<size_t>(b)];
                      return x != y ? x > y : a < b;
                    });
  for (size_t i = 0; i < n; ++i) step.top.push_back({ids[i], row[static_cast<size_t>(ids[i])]});
  return step;
}

// Feeds tokens in as few steps as the session allows; the outputs of the last one.
Result<std::vector<float>> feed(Session& session, SequenceId sequence,
                                std::span<const int32_t> tokens) {
  std::vector<float> last;
  for (size_t done = 0; done < tokens.size();) {
    const size_t n = std::min(tokens.size() - done, static_cast<size_t>(session.max_rows()));
    std::vector<BatchRow> rows;
    const int64_t first = session.length(sequence);
    for (size_t i = 0; i < n; ++i)
      rows.push_back({tokens[done + i], sequence,
                      static_cast<int32_t>(first + static_cast<int64_t>(i)),
                      done + i + 1 == tokens.size()});
    const StepResult result = ETCH_TRY(session.step(rows));
    const auto row = output_of(result, session.n_vocab());
    last.assign(row.begin(), row.end());
    done += n;
  }
  return last;
}

Status run_canary(Session& session, Canary& canary, int64_t n_more) {
  const SequenceId sequence = ETCH_TRY(session.create_sequence());
  struct Remover {
    Session& session;
    SequenceId sequence;
    ~Remover() { session.remove(sequence); }
  } remover{session, sequence};
  canary.steps.clear();
  std::vector<int32_t> tokens = canary.tokens;
  for (int64_t i = 0; i <= n_more; ++i) {
    const std::vector<float> row = ETCH_TRY(feed(session, sequence, tokens));
    if (row.empty())
      return fail(ErrorKind::unsupported, "the circuit gives neither logits nor hidden");
    canary.steps.push_back(step_of(row, session.length(sequence) - 1));
    if (session.length(sequence) >= session.lowered().limits.n_ctx) break;
    tokens = {canary.steps.back().top.front().id};
  }
  return {};
}

// A circuit without states sees the tokens of one step alone, and has nothing to go on from.
int64_t more_steps(const Session& session, int64_t n) {
  return session.lowered().states.empty() || session.n_vocab() == 0 ? 0 : n;
}

}  // namespace

Result<std::vector<Canary>> canary_prompts(const Tokenizer* tokenizer, int64_t n_vocab,
                                           const Limits& limits) {
  std::vector<int32_t> words;
  if (tokenizer) {
    auto encoded = tokenizer->encode(kText);
    if (encoded) words = std::move(*encoded);
    std::erase_if(words, [&](int32_t id) { return n_vocab > 0 && id >= n_vocab; });
  }
  std::vector<Canary> prompts;
  for (const int64_t length : {int64_t{5}, int64_t{40}, ETCH_PAGE_POSITIONS + int64_t{7}}) {
    const int64_t n = std::min(length, limits.n_ctx);
    if (!prompts.empty() && n <= std::ssize(prompts.back().tokens)) break;
    Canary canary;
    if (std::ssize(words) >= n) {
      canary.tokens.assign(words.begin(), words.begin() + n);
      canary.text = tokenizer->decode(canary.tokens);
    } else {
      canary.tokens = drawn_ids(n, n_vocab, static_cast<uint64_t>(length));
    }
    prompts.push_back(std::move(canary));
  }
  return prompts;
}

Status run_canaries(Session& session, std::vector<Canary>& prompts, int64_t n_more) {
  for (Canary& c : prompts) ETCH_TRY(run_canary(session, c, more_steps(session, n_more)));
  return {};
}

Result<Canaries> make_canaries(Session& session, const Tokenizer* tokenizer) {
  const Limits& limits = session.lowered().limits;
  Canaries canaries = {.output = session.n_vocab() > 0 ? "logits" : "hidden",
                       .n_ctx = limits.n_ctx,
                       .kv = std::string(name(limits.kv)),
                       .prompts = {}};
  canaries.prompts = ETCH_TRY(canary_prompts(tokenizer, session.n_vocab(), limits));
  ETCH_TRY(run_canaries(session, canaries.prompts, kMore));
  return canaries;
}

Result<std::vector<std::string>> replay(Session& session, const Canaries& canaries) {
  std::vector<std::string> differences;
  const auto n_vocab = session.n_vocab();
  for (size_t p = 0; p < canaries.prompts.size(); ++p) {
    const Canary& expected = canaries.prompts[p];
    const auto differ = [&](std::string what) {
      differences.push_back(
          fmt::format("prompt {} of {} tokens: {}", p, expected.tokens.size(), std::move(what)));
    };
    if (expected.tokens.empty() || expected.steps.empty() ||
        std::any_of(expected.tokens.begin(), expected.tokens.end(),
                    [&](int32_t id) { return id < 0 || (n_vocab > 0 && id >= n_vocab); })) {
      differ("it has no steps, no tokens, or tokens that the model does not have");
      continue;
    }
    Canary again = {expected.text, expected.tokens, {}};
    ETCH_TRY(run_canary(session, again, std::ssize(expected.steps) - 1)
                 .context(fmt::format("prompt {}", p)));
    for (size_t s = 0; s < expected.steps.size(); ++s) {
      if (s >= again.steps.size()) {
        differ(fmt::format("{} steps, expected {}", again.steps.size(), expected.steps.size()));
        break;
      }
      const CanaryStep &want = expected.steps[s], &got = again.steps[s];
      if (want.hash == got.hash) continue;
      const bool same_top = !want.top.empty() && want.top[0].id == got.top[0].id;
      differ(
          fmt::format("the {} of position {} are {}, expected {} (top token {}{})", canaries.output,
                      got.position, got.hash.substr(0, 12), want.hash.substr(0, 12), got.top[0].id,
                      same_top || want.top.empty() ? "" : fmt::format(", not {}", want.top[0].id)));
      break;  // what follows was fed another token, or comes of the same cause
    }
  }
  return differences;
}

std::string print_canaries_json(const Canaries& canaries) {
  nlohmann::ordered_json j = {
      {"schema", "etch.canary/1"}, {"output", canaries.output},
      {"n_ctx", canaries.n_ctx},   {"kv", canaries.kv},
      {"hash", "xxh3-128"},        {"prompts", nlohmann::ordered_json::array()}};
  for (const Canary& c : canaries.prompts) {
    nlohmann::ordered_json steps = nlohmann::ordered_json::array();
    for (const CanaryStep& s : c.steps) {
      nlohmann::ordered_json top = nlohmann::ordered_json::array();
      for (const CanaryStep::Top& t : s.top) top.push_back({t.id, t.logit});
      steps.push_back({{"position", s.position}, {"hash", s.hash}, {"top", std::move(top)}});
    }
    j["prompts"].push_back(
        {{"text", c.text}, {"token_ids", c.tokens}, {"steps", std::move(steps)}});
  }
  return file_text(j);
}

namespace {

Result<CanaryStep> parse_step(const nlohmann::json& json) {
  CanaryStep step;
  step.position = ETCH_TRY(integer_field(json, "position"));
  step.hash = ETCH_TRY(text_field(json, "hash"));
  if (step.hash.size() != 32) return wrong_field("hash", "32 hexadecimal digits");
  for (const auto& t : *ETCH_TRY(list_field(json, "top"))) {
    if (!t.is_array() || t.size() != 2 || !t[0].is_number_integer() || !t[1].is_number())
      return wrong_field("top", "a list of [id, logit]");
    step.top.push_back({t[0].get<int32_t>(), t[1].get<float>()});
  }
  return step;
}

}  // namespace

Result<Canaries> parse_canaries(std::string_view text) {
  const nlohmann::json json = ETCH_TRY(parse_json(text, "etch.canary/1"));
  Canaries canaries;
  canaries.output = ETCH_TRY(text_field(json, "output"));
  canaries.n_ctx = ETCH_TRY(integer_field(json, "n_ctx"));
  canaries.kv = ETCH_TRY(text_field(json, "kv"));
  for (const auto& prompt : *ETCH_TRY(list_field(json, "prompts"))) {
    Canary canary;
    canary.text = ETCH_TRY(text_field(prompt, "text"));
    for (const auto& id : *ETCH_TRY(list_field(prompt, "token_ids"))) {
      if (!id.is_number_integer()) return wrong_field("token_ids", "a list of whole numbers");
      canary.tokens.push_back(id.get<int32_t>());
    }
    for (const auto& step : *ETCH_TRY(list_field(prompt, "steps")))
      canary.steps.push_back(ETCH_TRY(parse_step(step)));
    canaries.prompts.push_back(std::move(canary));
  }
  if (canaries.prompts.empty()) return wrong_field("prompts", "a list of at least one");
  return canaries;
}

}  // namespace etch
