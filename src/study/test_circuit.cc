#include "study/test_circuit.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "circuit/bind.h"
#include "graph/build_graph.h"
#include "graph/interpret.h"
#include "graph/passes.h"
#include "lower/lower.h"
#include "session/session.h"
#include "study/synth_model.h"

namespace etch {
namespace {

// In standard deviations of the logits. Float weights: float32 in another order. Quantised ones:
// activations are rounded to int8 as well; a wrong sign or row gives about 1.4.
constexpr double kFloatBound = 1e-3, kQuantisedBound = 0.15;
constexpr int64_t kContext = 256;

std::vector<DType> runnable_types() {
  std::vector<DType> types;
  for (const DTypeInfo& i : all_dtypes()) {
    const bool numbers = i.dtype != DType::i8 && i.dtype != DType::i16 && i.dtype != DType::i32 &&
                         i.dtype != DType::i64 && i.dtype != DType::f64;
    if (numbers && i.state != DTypeState::listed && i.decode != nullptr) types.push_back(i.dtype);
  }
  return types;
}

bool is_float(const SynthOptions& o) {
  return std::all_of(o.types.begin(), o.types.end(),
                     [](DType t) { return info(t).block_elements == 1; });
}

std::vector<int32_t> tokens_of(int64_t n, int64_t n_vocab, uint64_t seed) {
  Random random(seed);
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < n; ++i) tokens.push_back(static_cast<int32_t>(random.below(n_vocab)));
  return tokens;
}

double deviation(const std::vector<double>& v) {
  const double n = static_cast<double>(v.size());
  const double mean = std::accumulate(v.begin(), v.end(), 0.0) / n;
  double sum = 0;
  for (const double x : v) sum += (x - mean) * (x - mean);
  return std::sqrt(sum / n);
}

// The median over positions of the root mean square difference: a route that takes the other of two
// equal experts upsets one position, a mistake upsets all.
double typical_distance(const std::vector<double>& a, const std::vector<float>& b, int64_t width) {
  std::vector<double> rows;
  for (size_t r = 0; r + static_cast<size_t>(width) <= a.size(); r += static_cast<size_t>(width)) {
    double sum = 0;
    for (size_t i = r; i < r + static_cast<size_t>(width); ++i)
      sum += (a[i] - b[i]) * (a[i] - b[i]);
    rows.push_back(std::sqrt(sum / static_cast<double>(width)));
  }
  std::nth_element(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(rows.size() / 2),
                   rows.end());
  return rows[rows.size() / 2] / deviation(a);
}

// ---- the plain evaluation ----

struct Plain {
  std::vector<Graph> before;  // flows that fill states first: encode
  Graph graph;
};

Result<std::vector<double>> interpreted(const Plain& plain, const std::vector<int32_t>& tokens,
                                        int64_t chunk) {
  KeptStates states;
  std::vector<InterpretRow> rows;
  for (size_t i = 0; i < tokens.size(); ++i)
    rows.push_back({tokens[i], 0, static_cast<int32_t>(i), true});
  for (const Graph& g : plain.before) ETCH_TRY(interpret(g, rows, states));
  std::vector<double> all;
  for (int64_t done = 0; done < std::ssize(rows); done += chunk) {
    const auto step = std::span(rows).subspan(
        static_cast<size_t>(done),
        static_cast<size_t>(std::min<int64_t>(chunk, std::ssize(rows) - done)));
    const Interpreted out = ETCH_TRY(interpret(plain.graph, step, states));
    if (out.outputs.empty()) return fail(ErrorKind::internal, "the flow has no output");
    const std::vector<double>& values = out.outputs[0].values;
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

bool has_states(const Graph& g) { return !g.states.empty(); }

// ---- the executor ----

class Executed {
 public:
  static Result<Executed> create(const Binding& binding, int n_threads) {
    Graph graph = ETCH_TRY(build_graph(binding));
    ETCH_TRY(run_passes(graph, {}));
    LowerOptions options;
    options.limits = {.n_ctx = kContext,
                      .n_rows = 64,
                      .n_outputs = 64,
                      .n_threads = n_threads,
                      .kv = KvType::f32};
    Executed e;
    e.lowered_ = std::make_shared<const Lowered>(ETCH_TRY(lower(graph, {}, options)));
    SessionOptions session{.n_threads = n_threads};
    session.kv_budget_bytes = plan_memory(*e.lowered_, session).kv * 3;
    e.session_ = ETCH_TRY(Session::create(e.lowered_, binding.model->bytes(), session));
    return e;
  }

  Result<std::vector<float>> feed(SequenceId sequence, std::span<const int32_t> tokens,
                                  int64_t chunk) {
    std::vector<float> all;
    for (int64_t done = 0; done < std::ssize(tokens); done += chunk) {
      std::vector<BatchRow> rows;
      for (int64_t i = done; i < std::min<int64_t>(std::ssize(tokens), done + chunk); ++i)
        rows.push_back({tokens[static_cast<size_t>(i)], sequence,
                        static_cast<int32_t>(session_->length(sequence) + i - done), true});
      const StepResult step = ETCH_TRY(session_->step(rows));
      all.insert(all.end(), step.logits.begin(), step.logits.end());
    }
    return all;
  }

  Result<std::vector<float>> alone(std::span<const int32_t> tokens, int64_t chunk) {
    const SequenceId s = ETCH_TRY(session_->create_sequence());
    auto logits = feed(s, tokens, chunk);
    session_->remove(s);
    return logits;
  }

  // Both in the same steps.
  Result<std::vector<float>> beside(std::span<const int32_t> tokens,
                                    std::span<const int32_t> others) {
    const SequenceId a = ETCH_TRY(session_->create_sequence()),
                     b = ETCH_TRY(session_->create_sequence());
    std::vector<float> all;
    const auto n_vocab = static_cast<size_t>(session_->n_vocab());
    for (size_t i = 0; i < tokens.size(); ++i) {
      std::vector<BatchRow> rows;
      if (i < others.size()) rows.push_back({others[i], b, static_cast<int32_t>(i), true});
      rows.push_back({tokens[i], a, static_cast<int32_t>(i), true});
      const StepResult step = ETCH_TRY(session_->step(rows));
      const auto own = step.logits.subspan((rows.size() - 1) * n_vocab);
      all.insert(all.end(), own.begin(), own.end());
    }
    session_->remove(a);
    session_->remove(b);
    return all;
  }

  Result<std::vector<float>> restored(std::span<const int32_t> tokens) {
    const size_t half = tokens.size() / 2;
    const SequenceId a = ETCH_TRY(session_->create_sequence());
    std::vector<float> all = ETCH_TRY(feed(a, tokens.subspan(0, half), 7));
    const std::vector<uint8_t> saved = ETCH_TRY(session_->save(a));
    session_->remove(a);
    const SequenceId b = ETCH_TRY(session_->create_sequence());
    ETCH_TRY(session_->restore(b, saved));
    const std::vector<float> rest = ETCH_TRY(feed(b, tokens.subspan(half), 64));
    session_->remove(b);
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  }

  int64_t n_vocab() const { return session_->n_vocab(); }

 private:
  std::shared_ptr<const Lowered> lowered_;
  std::unique_ptr<Session> session_;
};

std::string difference(const std::vector<float>& a, const std::vector<float>& b, int64_t width) {
  if (a.size() != b.size()) return fmt::format("{} and {} numbers", a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    if (!(a[i] == b[i]))
      return fmt::format("position {}, token {}: {} and {}", i / static_cast<size_t>(width),
                         i % static_cast<size_t>(width), a[i], b[i]);
  return "";
}

// ---- one model ----

class ModelTest {
 public:
  ModelTest(std::shared_ptr<const Circuit> circuit, const SynthOptions& synth,
            const CircuitTestOptions& options, CircuitTestReport& report)
      : circuit_(std::move(circuit)), synth_(synth), options_(options), report_(report) {}

  // A failure of the model to do something is the report's; of the file to be made, the caller's.
  Status run(std::string name) {
    auto model = ETCH_TRY(synth_model(*circuit_, synth_));
    CircuitTestReport::Model line{std::move(name), "", "", -1};
    const Status status = checks(model, line);
    if (!status.has_value()) line.failure = status.error().message;
    report_.models.push_back(std::move(line));
    return {};
  }

 private:
  Status checks(std::shared_ptr<const Model> model, CircuitTestReport::Model& line) {
    const Binding binding = ETCH_TRY(bind(circuit_, model, {.n_ctx = kContext, .strict = true}));
    const std::vector<int32_t> tokens = tokens_of(options_.n_tokens, synth_.n_vocab, synth_.seed),
                               others = tokens_of(9, synth_.n_vocab, synth_.seed + 1);
    Plain plain;
    if (circuit_->flow("encode") != nullptr)
      plain.before.push_back(ETCH_TRY(build_graph(binding, "encode")));
    plain.graph = ETCH_TRY(build_graph(binding));
    const std::vector<double> expected = ETCH_TRY(interpreted(plain, tokens, std::ssize(tokens)));
    if (!std::all_of(expected.begin(), expected.end(), [](double x) { return std::isfinite(x); }))
      return fail(ErrorKind::answer_is_no,
                  "the plain evaluation gives numbers that are not finite");
    const double std = deviation(expected);
    if (!(std > 0)) return fail(ErrorKind::answer_is_no, "all outputs are equal");
    // Flows without caches need a whole sequence in a step. The types of weights change nothing
    // here.
    if (has_states(plain.graph) && is_float(synth_)) {
      const std::vector<double> one_by_one = ETCH_TRY(interpreted(plain, tokens, 1));
      if (one_by_one.size() != expected.size())
        return fail(ErrorKind::answer_is_no, "token by token gives another number of outputs");
      for (size_t i = 0; i < expected.size(); ++i)
        if (std::abs(one_by_one[i] - expected[i]) > 1e-5 * std)
          return fail(ErrorKind::answer_is_no,
                      "plain evaluation token by token: {} where one step gives {}", one_by_one[i],
                      expected[i]);
    }
    if (!options_.execute || !plain.before.empty()) {
      line.not_executed =
          options_.execute ? "sessions do not run the flow encode" : "not asked for";
      return {};
    }
    auto executed = Executed::create(binding, options_.n_threads);
    if (!executed.has_value() && executed.error().kind == ErrorKind::unsupported) {
      line.not_executed = executed.error().message;
      return {};
    }
    if (!executed.has_value()) return tl::unexpected(executed.error());
    return ways(*executed, expected, tokens, others, line);
  }

  Status ways(Executed& e, const std::vector<double>& expected, const std::vector<int32_t>& tokens,
              const std::vector<int32_t>& others, CircuitTestReport::Model& line) {
    const int64_t width = e.n_vocab();
    const std::vector<float> prefill = ETCH_TRY(e.alone(tokens, 64));
    if (prefill.size() != expected.size())
      return fail(ErrorKind::answer_is_no, "{} logits, the plain evaluation has {}", prefill.size(),
                  expected.size());
    const auto same = [&](std::string_view way, const std::vector<float>& got) -> Status {
      const std::string d = difference(prefill, got, width);
      if (!d.empty()) return fail(ErrorKind::answer_is_no, "{} differs from prefill at {}", way, d);
      return {};
    };
    ETCH_TRY(same("decode", ETCH_TRY(e.alone(tokens, 1))));
    ETCH_TRY(same("prefill in chunks of 5", ETCH_TRY(e.alone(tokens, 5))));
    ETCH_TRY(same("decode beside another sequence", ETCH_TRY(e.beside(tokens, others))));
    ETCH_TRY(same("going on after save and restore", ETCH_TRY(e.restored(tokens))));
    line.float_error = typical_distance(expected, prefill, width);
    const double bound = is_float(synth_) ? kFloatBound : kQuantisedBound;
    if (!(line.float_error <= bound))
      return fail(
          ErrorKind::answer_is_no,
          "the executor is {:.2g} deviations from the plain evaluation, at most {:.2g} is rounding",
          line.float_error, bound);
    return {};
  }

  std::shared_ptr<const Circuit> circuit_;
  SynthOptions synth_;
  const CircuitTestOptions& options_;
  CircuitTestReport& report_;
};

}  // namespace

int CircuitTestReport::n_failed() const {
  return static_cast<int>(std::count_if(models.begin(), models.end(),
                                        [](const Model& m) { return !m.failure.empty(); }));
}

int CircuitTestReport::n_executed() const {
  return static_cast<int>(std::count_if(models.begin(), models.end(),
                                        [](const Model& m) { return m.not_executed.empty(); }));
}

Result<CircuitTestReport> test_circuit(std::shared_ptr<const Circuit> circuit,
                                       const CircuitTestOptions& options) {
  CircuitTestReport report;
  const std::vector<DType> types = runnable_types();
  uint64_t seed = options.seed;
  const auto test = [&](const std::string& name, SynthOptions synth) -> Status {
    synth.seed = seed++;
    synth.n_layers = synth.width > 64 ? 2 : 0;
    ETCH_TRY(ModelTest(circuit, synth, options, report).run(name));
    if (!options.execute || report.models.back().not_executed.empty() ||
        synth.optional == SynthOptions::Optional::none)
      return {};
    // What kernels do not know yet may be an optional output. A circuit may be nothing without what
    // is optional.
    synth.optional = SynthOptions::Optional::none;
    (void)ModelTest(circuit, synth, options, report).run(name + ", nothing optional").has_value();
    return {};
  };
  ETCH_TRY(test("F32, all that is optional", {}));
  (void)test("F32, nothing optional", {.optional = SynthOptions::Optional::none}).has_value();
  ETCH_TRY(test("F32, packed", {.packed = true}));
  ETCH_TRY(test("F32, stacks in pieces", {.pieces = true}));
  if (options.each_type)
    for (const DType t : types)
      ETCH_TRY(test(std::string(name(t)),
                    {.types = {t}, .optional = SynthOptions::Optional::drawn, .width = 256}));
  for (int i = 0; i < options.n_mixes; ++i)
    ETCH_TRY(
        test(fmt::format("a mix of types, {}", i + 1), {.types = types,
                                                        .optional = SynthOptions::Optional::drawn,
                                                        .packed = i % 2 == 1,
                                                        .pieces = i % 3 == 1,
                                                        .width = i % 2 == 0 ? 256 : 64}));
  return report;
}

}  // namespace etch
