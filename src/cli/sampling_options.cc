#include "cli/sampling_options.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <variant>

#include "base/file.h"
#include "base/utf8.h"
#include "cli/parser.h"
#include "cli/render.h"
#include "text/grammar/automaton.h"
#include "text/grammar/formats.h"

namespace etch::cli {
namespace {

constexpr int64_t kMaxGrammarBytes = int64_t{16} << 20;

// The numbers of SamplingOptions that --set knows.
struct Value {
  std::string_view name;
  std::variant<float SamplingOptions::*, int64_t SamplingOptions::*> member;
};
const Value kValues[] = {
    {"dynamic_range", &SamplingOptions::dynamic_range},
    {"dynamic_exponent", &SamplingOptions::dynamic_exponent},
    {"typical_p", &SamplingOptions::typical_p},
    {"top_n_sigma", &SamplingOptions::top_n_sigma},
    {"xtc_probability", &SamplingOptions::xtc_probability},
    {"xtc_threshold", &SamplingOptions::xtc_threshold},
    {"min_keep", &SamplingOptions::min_keep},
    {"frequency_penalty", &SamplingOptions::frequency_penalty},
    {"presence_penalty", &SamplingOptions::presence_penalty},
    {"penalty_last_n", &SamplingOptions::penalty_last_n},
    {"dry_multiplier", &SamplingOptions::dry_multiplier},
    {"dry_base", &SamplingOptions::dry_base},
    {"dry_allowed_length", &SamplingOptions::dry_allowed_length},
    {"dry_last_n", &SamplingOptions::dry_last_n},
    {"mirostat", &SamplingOptions::mirostat},
    {"mirostat_tau", &SamplingOptions::mirostat_tau},
    {"mirostat_eta", &SamplingOptions::mirostat_eta},
    {"adaptive_target", &SamplingOptions::adaptive_target},
    {"adaptive_decay", &SamplingOptions::adaptive_decay},
};

template <class Number>
bool read_number(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

// "top_n_sigma=1.5"
Status set(SamplingOptions& options, std::string_view given) {
  const size_t equals = given.find('=');
  const std::string_view name = given.substr(0, equals);
  const auto value = std::find_if(std::begin(kValues), std::end(kValues),
                                  [&](const Value& v) { return v.name == name; });
  if (value == std::end(kValues)) {
    std::string names;
    for (const Value& v : kValues) names += (names.empty() ? "" : ", ") + std::string(v.name);
    return fail(ErrorKind::usage, "--set {}: the values are {}", quote(given), names);
  }
  const std::string_view number = equals == given.npos ? "" : given.substr(equals + 1);
  const bool ok = std::visit([&](auto member) { return read_number(number, options.*member); },
                             value->member);
  if (!ok) return fail(ErrorKind::usage, "--set {}: expected {}=NUMBER", quote(given), name);
  return {};
}

Result<std::optional<Grammar>> read_grammar(const SamplingFlags& flags) {
  const bool asked[] = {!flags.grammar_file.empty(), !flags.schema_file.empty(),
                        !flags.regex.empty(), !flags.choices.empty()};
  const auto n = std::count(std::begin(asked), std::end(asked), true);
  if (n == 0) return std::nullopt;
  if (n > 1) {
    return fail(ErrorKind::usage,
                "--grammar, --json-schema, --regex and --choices are four ways to say what an "
                "answer may be\n  give one of them");
  }
  if (asked[0]) {
    const std::string text = ETCH_TRY(read_file(flags.grammar_file, kMaxGrammarBytes));
    return ETCH_TRY(parse_gbnf(text).context(flags.grammar_file));
  }
  if (asked[1]) {
    const std::string text = ETCH_TRY(read_file(flags.schema_file, kMaxGrammarBytes));
    return ETCH_TRY(parse_json_schema(text).context(flags.schema_file));
  }
  auto grammar = asked[2] ? parse_regex(flags.regex) : choices_grammar(flags.choices);
  if (!grammar) {  // written on the command line: the mistake is there, not in a file
    return fail(ErrorKind::usage, "{}: {}", asked[2] ? "--regex" : "--choices",
                grammar.error().message);
  }
  return std::move(*grammar);
}

std::string shown(const Tokenizer& tokenizer, int32_t id) {
  return fmt::format("{} {}", id, quote(tokenizer.token_bytes(id, true)));
}

}  // namespace

void add_sampling_options(Parser& parser, SamplingFlags& flags) {
  SamplingOptions& s = flags.options;
  parser.group("What may come next");
  parser.real("--temp", s.temperature, "temperature (default 0.8); 0: always the likeliest");
  parser.number("--top-k", s.top_k, "of the K likeliest (default 40; 0: all)", 0);
  parser.real("--top-p", s.top_p, "of those that make up P (default 0.95; 1: all)");
  parser.real("--min-p", s.min_p, "at least P of the likeliest (default 0.05; 0: all)");
  parser.real("--repeat-penalty", s.repeat_penalty, "against repetition (default 1: none)");
  parser.texts("--set", flags.values, "NAME=X", "xtc_probability=0.5 mirostat=2 ... (--set help)");
  parser.texts("--samplers", flags.steps, "STEP", "the steps, in order, between commas", ',');
  parser.texts("--ban", flags.banned, "TEXT", "no token that holds this text (may be repeated)");
  parser.number("--seed", flags.seed, "same seed, same answer (default 0)", 0, INT64_MAX);
  parser.flag("--explain-sampling", flags.explain, "what each step removed, on standard error");
  parser.text("--grammar", flags.grammar_file, "FILE", "the answer is of this grammar (GBNF)");
  parser.text("--json-schema", flags.schema_file, "FILE", "the answer is JSON that is valid by this schema");
  parser.text("--regex", flags.regex, "PATTERN", "the answer matches as a whole");
  parser.texts("--choices", flags.choices, "A,B", "the answer is one of these texts", ',');
}

Result<Sampler> make_sampler(const SamplingFlags& flags, const Tokenizer& tokenizer) {
  SamplingOptions options = flags.options;
  options.seed = static_cast<uint64_t>(flags.seed);
  if (!flags.steps.empty()) options.steps = flags.steps;
  for (const std::string& value : flags.values) ETCH_TRY(set(options, value));
  for (const std::string& text : flags.banned) {
    if (text.empty()) return fail(ErrorKind::usage, "--ban needs a text that is not empty");
    for (int32_t id = 0; id < tokenizer.n_vocab(); ++id) {
      if (tokenizer.token_bytes(id, true).find(text) != std::string::npos)
        options.logit_bias.emplace_back(id, -std::numeric_limits<float>::infinity());
    }
  }
  return etch::make_sampler(options, &tokenizer);
}

Result<std::optional<Matcher>> make_matcher(const SamplingFlags& flags,
                                            const Tokenizer& tokenizer) {
  const std::optional<Grammar> grammar = ETCH_TRY(read_grammar(flags));
  if (!grammar) return std::nullopt;
  Automaton automaton = ETCH_TRY(build_automaton(*grammar));
  return Matcher(ETCH_TRY(
      TokenMasks::make(std::move(automaton), make_grammar_vocabulary(tokenizer), &tokenizer)));
}

void print_draw(const SampleTrace& trace, const Tokenizer& tokenizer) {
  print_note(fmt::format("token {}: {:.1f} %, by the model alone {:.1f} %",
                         shown(tokenizer, trace.id), 100 * trace.p, 100 * trace.p_raw));
  for (const SampleTrace::Stage& stage : trace.stages) {
    if (stage.before == stage.after) continue;
    std::string gone;
    for (const SampleTrace::Token& t : stage.removed)
      gone += fmt::format("  {} {:.1f} %", shown(tokenizer, t.id), 100 * t.p);
    print_note(fmt::format("  {}: {} of {} stay; gone{}", stage.name, stage.after, stage.before,
                           gone));
  }
}

}  // namespace etch::cli
