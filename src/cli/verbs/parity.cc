// etch parity: where do two runs of the same tokens part?
#include "study/parity.h"

#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/engine_options.h"
#include "cli/input_text.h"
#include "cli/parser.h"
#include "cli/render.h"
#include "cli/verb.h"
#include "study/canary.h"

namespace etch::cli {
namespace {

constexpr int64_t kMostReferenceBytes = int64_t{1} << 32;
constexpr size_t kTokens = 26;  // of the text inside etch: a prefill of 24, two decodes

struct Flags {
  std::string a, b, tokens, reference;
  TextFlags text;
  EngineFlags engine;
  EngineFlags against;  // what is not given is as for A
  bool plain = false, in_double = false, all = false, json = false;
  int64_t decode = 2;
  float tolerance = 0;
};

// One of the two: a model or a sidecar, and how it is run.
struct Side {
  std::string path;
  EngineOptions options;
  bool plain = false;
  Engine engine;
};

EngineFlags flags_of_b(const Flags& flags) {
  EngineFlags b = flags.engine;
  if (flags.against.threads) b.threads = flags.against.threads;
  if (flags.against.ubatch) b.ubatch = flags.against.ubatch;
  if (!flags.against.kv.empty()) b.kv = flags.against.kv;
  if (!flags.against.isa.empty()) b.isa = flags.against.isa;
  if (!flags.against.without.empty()) b.without = flags.against.without;
  return b;
}

Status load(Side& side, const EngineFlags& flags, bool needs_text) {
  side.options = ETCH_TRY(engine_options(flags));
  side.options.compile.limits.n_outputs = 0;  // as many rows as memory allows
  side.options.needs_text = needs_text;
  auto engine = load_engine(side.path, side.options);
  if (!engine && !needs_text) return tl::unexpected(engine.error());
  if (!engine) {
    side.options.needs_text = false;
    engine = load_engine(side.path, side.options);
  }
  side.engine = ETCH_TRY(std::move(engine).context(side.path));
  return {};
}

std::string what(const Side& side, const Flags& flags) {
  const std::string file = std::filesystem::path(side.path).filename().string();
  if (side.plain)
    return fmt::format("{}, plain evaluation in {}", file, flags.in_double ? "float64" : "float32");
  const Session& s = *side.engine.session;
  return fmt::format("{} on {}, {} thread{}, steps of {}, {} cache", file, isa_name(s.isa()),
                     s.n_threads(), s.n_threads() == 1 ? "" : "s", s.max_rows(),
                     name(s.lowered().limits.kv));
}

std::unique_ptr<ParityRun> run_of(const Side& side, const Flags& flags) {
  return side.plain ? run_of_interpreter(side.engine.compiled, flags.in_double, what(side, flags))
                    : run_of_session(side.engine.compiled, *side.engine.session, what(side, flags));
}

Promise promise_of(const Side& a, const Side& b) {
  const auto& x = *a.engine.compiled.lowered;
  const auto& y = *b.engine.compiled.lowered;
  const auto of_a = a.engine.model->bytes(), of_b = b.engine.model->bytes();
  const bool one_model =
      of_a.size() == of_b.size() && std::memcmp(of_a.data(), of_b.data(), of_a.size()) == 0;
  if (!one_model) return Promise::nothing;
  if (a.plain || b.plain || x.limits.kv != y.limits.kv) return Promise::rounding;
  return Promise::same_bits;
}

// ---- what is printed

std::string place_of(const ComparedValue& v) {
  std::string place = v.node < 0 ? v.what : fmt::format("n{}: {}", v.node, v.what);
  if (v.layer >= 0) place += fmt::format("\n  layer {}", v.layer);
  if (!v.location.empty()) place += fmt::format("\n  {}", v.location);
  if (!v.tensor.empty()) place += fmt::format("\n  tensor {}", v.tensor);
  return place;
}

std::string numbers_line(std::string_view side, const std::vector<float>& numbers) {
  std::string line = fmt::format("  {} ", side);
  for (const float x : numbers) line += fmt::format(" {:>12.6g}", x);
  return line + "\n";
}

std::string first_text(const ComparedValue& v) {
  const Difference& d = v.difference;
  std::string text = coloured("first to part: ", Colour::red, stdout) + place_of(v) + "\n";
  text += fmt::format(
      "  step {}, {} rows of {}: {} numbers differ; at most {:.4g}, on average {:.4g}, cosine "
      "{:.7f}\n  most in row {}, element {}: {:.9g} and {:.9g}; around it\n",
      v.step, d.rows, d.width, d.n_different, d.max_abs, d.mean_abs, d.cosine, d.worst_row,
      d.worst_element, d.a, d.b);
  return text + numbers_line("a", d.a_near) + numbers_line("b", d.b_near);
}

// The worst value of each layer, or all values.
std::string values_table(const ParityReport& report, bool all) {
  std::vector<const ComparedValue*> shown;
  if (all) {
    for (const ComparedValue& v : report.values) shown.push_back(&v);
  } else {
    std::map<std::pair<int, int>, const ComparedValue*> worst;
    for (const ComparedValue& v : report.values) {
      const ComparedValue*& w = worst[{v.layer < 0 ? 1 << 20 : v.layer, v.node < 0 ? v.step : 0}];
      if (!w || v.difference.typical > w->difference.typical) w = &v;
    }
    for (const auto& [layer, v] : worst) shown.push_back(v);
  }
  std::vector<std::vector<std::string>> rows = {
      {"step", "layer", "node", "typical", "max", "cosine", "what"}};
  for (const ComparedValue* v : shown)
    rows.push_back({fmt::format("{}", v->step), v->layer < 0 ? "" : fmt::format("{}", v->layer),
                    v->node < 0 ? "" : fmt::format("n{}", v->node),
                    fmt::format("{:.2e}", v->difference.typical),
                    fmt::format("{:.2e}", v->difference.max_abs),
                    fmt::format("{:.6f}", v->difference.cosine), v->what});
  return table(rows, "rrrrrrl");
}

std::string to_text(const ParityReport& r, const Flags& flags) {
  std::string text = fmt::format("a  {}\nb  {}\n", r.a, r.b);
  text += fmt::format("{} tokens in {} steps; {} values compared", r.n_tokens, r.n_steps,
                      r.values.size());
  if (r.n_only_a + r.n_only_b > 0)
    text +=
        fmt::format("; {} only in a and {} only in b (fused into others)", r.n_only_a, r.n_only_b);
  if (r.n_rerouted > 0)
    text += fmt::format("; {} rows left out once rounding chose other experts", r.n_rerouted);
  text += "\n\n";
  const ComparedValue* first = r.first();
  const ComparedValue* worst = r.worst();
  if (first) text += first_text(*first) + "\n";
  if (flags.all || (worst && worst->difference.n_different > 0)) {
    text +=
        flags.all || r.values.empty() || r.values[0].node < 0 ? "" : "the worst of each layer\n";
    text += values_table(r, flags.all) + "\n";
  }
  const bool promises = r.promise != Promise::nothing || r.tolerance < 1e30;
  if (r.n_different > 0)
    return text + fmt::format("{} of {} values are further apart than {}\n", r.n_different,
                              r.values.size(),
                              r.promise == Promise::same_bits
                                  ? "equal bits"
                                  : fmt::format("{:.2g} of their size", r.tolerance));
  if (!promises) return text + "nothing is promised of two models (--tolerance sets a bound)\n";
  return text + (r.promise == Promise::same_bits
                     ? std::string("all bits are the same\n")
                     : fmt::format("all within {:.2g} of their size\n", r.tolerance));
}

// ---- the run

Result<std::vector<int32_t>> tokens_for(const Parser& parser, const Flags& flags,
                                        const Engine& engine) {
  if (parser.given("--tokens")) return parse_ids(flags.tokens).context("--tokens");
  if (const auto text = ETCH_TRY(given_text(parser, flags.text))) {
    if (!engine.tokenizer)
      return fail(ErrorKind::unsupported,
                  "the model has no vocabulary that etch reads; give --tokens");
    return engine.tokenizer->encode(*text);
  }
  std::vector<Canary> prompts = ETCH_TRY(canary_prompts(
      engine.tokenizer.get(), engine.session->n_vocab(), engine.session->lowered().limits));
  for (Canary& p : prompts) {
    if (p.tokens.size() < kTokens) continue;
    p.tokens.resize(kTokens);
    return p.tokens;
  }
  return prompts.back().tokens;
}

Result<ParityReport> against_reference(const Parser& parser, const Flags& flags) {
  Side side = {.path = flags.a, .options = {}, .plain = false, .engine = {}};
  if (!parser.given("--tokens") && !parser.given("-p") && !parser.given("-f"))
    return fail(ErrorKind::usage, "--reference: of which tokens? give --tokens, -p or -f");
  ETCH_TRY(load(side, flags.engine, !parser.given("--tokens")));
  const std::vector<int32_t> tokens = ETCH_TRY(tokens_for(parser, flags, side.engine));
  const std::string bytes = ETCH_TRY(read_file(flags.reference, kMostReferenceBytes));
  if (bytes.size() % sizeof(float) != 0)
    return fail(ErrorKind::usage, "{}: {} bytes are no whole number of float32", flags.reference,
                bytes.size());
  std::vector<float> reference(bytes.size() / sizeof(float));
  std::memcpy(reference.data(), bytes.data(), reference.size() * sizeof(float));
  const double tolerance =
      parser.given("--tolerance") ? flags.tolerance : rounding_tolerance(*side.engine.model);
  ParityReport report =
      ETCH_TRY(compare_with_reference(*side.engine.session, tokens, reference, tolerance)
                   .context(flags.reference));
  report.a = flags.reference;
  report.b = what(side, flags);
  return report;
}

Result<ParityReport> two_runs(const Parser& parser, const Flags& flags) {
  Side a = {.path = flags.a, .options = {}, .plain = false, .engine = {}};
  Side b = {
      .path = flags.b.empty() ? flags.a : flags.b, .options = {}, .plain = false, .engine = {}};
  const EngineFlags of_b = flags_of_b(flags);
  constexpr const char* kAgainst[] = {"--against-isa", "--against-threads", "--against-ubatch",
                                      "--against-kv", "--against-without"};
  const bool any = std::any_of(std::begin(kAgainst), std::end(kAgainst),
                               [&](const char* o) { return parser.given(o); });
  b.plain = flags.plain || flags.in_double || (flags.b.empty() && !any);
  ETCH_TRY(load(a, flags.engine, !parser.given("--tokens")));
  ETCH_TRY(load(b, of_b, false));
  ParityOptions options;
  options.tokens = ETCH_TRY(tokens_for(parser, flags, a.engine));
  options.n_decode = a.engine.compiled.lowered->states.empty() ? 0 : flags.decode;
  options.promise = promise_of(a, b);
  options.tolerance = parser.given("--tolerance")            ? flags.tolerance
                      : options.promise == Promise::rounding ? rounding_tolerance(*a.engine.model)
                                                             : 1e30;
  if (flags.against.ubatch) {
    options.rows_a = a.engine.session->max_rows();
    options.rows_b = b.engine.session->max_rows();
  }
  if (std::ssize(options.tokens) > a.engine.session->lowered().limits.n_ctx)
    return fail(ErrorKind::resources, "there are {} tokens, the context holds {}",
                options.tokens.size(), a.engine.session->lowered().limits.n_ctx);
  const auto run_a = run_of(a, flags), run_b = run_of(b, flags);
  return compare(*run_a, *run_b, options);
}

Result<int> run(const Parser& parser, const Flags& flags) {
  if (!flags.reference.empty() && (!flags.b.empty() || flags.plain || flags.in_double))
    return fail(ErrorKind::usage, "--reference stands in the place of a second run");
  const ParityReport report = ETCH_TRY(flags.reference.empty() ? two_runs(parser, flags)
                                                               : against_reference(parser, flags));
  ETCH_TRY(put(flags.json ? print_parity_json(report) : to_text(report, flags)));
  return report.n_different > 0 ? 1 : 0;
}

}  // namespace

Action setup_parity(Parser& parser) {
  parser.describe(
      "Where do two runs of the same tokens part? The first value that differs is named. Without "
      "a\n"
      "second model or an --against option, kernels are held against the plain evaluation.",
      "  etch parity model.gguf\n"
      "  etch parity model.gguf --isa scalar --against-isa avx512\n"
      "  etch parity model-f16.gguf model-q4.gguf\n"
      "  etch parity model.gguf --reference logits.f32 --tokens 1,2,3");
  auto flags = std::make_shared<Flags>();
  parser.text("a", flags->a, "A", "GGUF file");
  parser.require("a");
  parser.text("b", flags->b, "B", "another one of the same circuit");
  parser.flag("--plain", flags->plain, "B is the plain evaluation in float32");
  parser.flag("--double", flags->in_double, "B is the plain evaluation in float64");
  parser.text("--reference", flags->reference, "FILE",
              "logits of somebody else: float32 [tokens, n_vocab]");
  parser.text("--tokens", flags->tokens, "IDS", "the tokens (default: a text inside etch)");
  add_text_options(parser, flags->text);
  parser.number("--decode", flags->decode, "so many of them one by one (default 2)", 0);
  parser.real("--tolerance", flags->tolerance, "typical difference allowed, in sizes of a value");
  parser.flag("--all", flags->all, "a line for every value");
  parser.flag("--json", flags->json, "as JSON (etch.parity/1)");
  parser.group("Of B alone");
  parser.text("--against-isa", flags->against.isa, "NAME", "instruction set");
  parser.number("--against-threads", flags->against.threads, "threads", 1);
  parser.number("--against-ubatch", flags->against.ubatch, "rows of a step; compares the last row",
                1);
  parser.text("--against-kv", flags->against.kv, "NAME", "type of cached keys and values");
  parser.texts("--against-without", flags->against.without, "PASS,...", "passes left out", ',');
  add_engine_options(parser, flags->engine);
  return [flags, &parser] { return run(parser, *flags); };
}

}  // namespace etch::cli
