// etch bench: speed against the machine's limits, both measured in the same run.
#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "cli/bench_matmul.h"
#include "cli/engine_options.h"
#include "cli/interrupt.h"
#include "cli/load_model.h"
#include "cli/parser.h"
#include "cli/render.h"
#include "cli/verb.h"
#include "engine/perf_probe.h"
#include "study/work.h"

namespace etch::cli {
namespace {

struct Flags {
  ModelFlags model;
  EngineFlags engine;
  MatmulFlags matmul;
  int64_t prompt = 512, generate = 128, repetitions = 5;
  bool json = false;
};

struct Measurement {
  std::string test;
  std::vector<double> rates;  // tokens per second of each repetition
  double gb_per_second = 0, gmac_per_second = 0, limit_fraction = 0;
};

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.empty()      ? 0
         : v.size() % 2 ? v[v.size() / 2]
                        : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
}
double least(const std::vector<double>& v) {
  return v.empty() ? 0 : *std::min_element(v.begin(), v.end());
}
double most(const std::vector<double>& v) {
  return v.empty() ? 0 : *std::max_element(v.begin(), v.end());
}

class Bench {
 public:
  Bench(const Engine& engine) : engine_(engine), session_(*engine.session), random_(1) {
    team_.reset(etch_team_create(session_.n_threads()));
  }

  // One prompt of n tokens in an empty sequence; tokens per second.
  Result<double> prompt(int64_t n) {
    const SequenceId sequence = ETCH_TRY(session_.create_sequence());
    const auto start = Clock::now();
    const Status ran = run(sequence, n, session_.max_rows());
    const double seconds = since(start);
    session_.remove(sequence);
    ETCH_TRY(ran);
    return static_cast<double>(n) / seconds;
  }

  // n tokens, one at a time.
  Result<double> generate(int64_t n) {
    const SequenceId sequence = ETCH_TRY(session_.create_sequence());
    const auto start = Clock::now();
    const Status ran = run(sequence, n, 1);
    const double seconds = since(start);
    session_.remove(sequence);
    ETCH_TRY(ran);
    return static_cast<double>(n) / seconds;
  }

  // The machine, between repetitions.
  void probe() {
    reads_.push_back(measure_read(engine_.model->bytes(), team_.get(), 0.1));
    peaks_.push_back(measure_int8_peak(session_.isa(), team_.get(), 0.05));
  }
  double read_bandwidth() const { return median(reads_); }
  double int8_peak() const { return median(peaks_); }

 private:
  using Clock = std::chrono::steady_clock;
  static double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  Status run(SequenceId sequence, int64_t n, int64_t chunk) {
    std::vector<BatchRow> rows;
    for (int64_t done = 0; done < n; done += std::ssize(rows)) {
      rows.clear();
      for (int64_t p = done; p < std::min(n, done + chunk); ++p) {
        const auto token =
            static_cast<int32_t>(random_.below(std::max<int64_t>(1, session_.n_vocab())));
        rows.push_back({token, sequence, static_cast<int32_t>(p), false});
      }
      rows.back().wants_output = true;
      ETCH_TRY(session_.step(rows));
    }
    return {};
  }

  struct TeamDeleter {
    void operator()(etch_team* t) const { etch_team_destroy(t); }
  };
  const Engine& engine_;
  Session& session_;
  Random random_;
  std::unique_ptr<etch_team, TeamDeleter> team_;
  std::vector<double> reads_, peaks_;
};

nlohmann::ordered_json to_json(const Bench& bench, const Session& session,
                               const std::vector<Measurement>& all) {
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const Measurement& m : all) {
    results.push_back(
        {{"test", m.test},
         {"threads", session.n_threads()},
         {"tokens_per_second",
          {{"min", least(m.rates)}, {"median", median(m.rates)}, {"max", most(m.rates)}}},
         {"gb_per_second", m.gb_per_second},
         {"gmac_per_second", m.gmac_per_second},
         {"limit_fraction", m.limit_fraction}});
  }
  return {{"schema", "etch.bench/1"},
          {"isa", isa_name(session.isa())},
          {"read_gb_per_second", bench.read_bandwidth() / 1e9},
          {"int8_gmac_per_second", bench.int8_peak() / 1e9},
          {"results", std::move(results)}};
}

std::string to_text(const Bench& bench, const Session& session,
                    const std::vector<Measurement>& all) {
  std::vector<std::vector<std::string>> rows = {
      {"test", "threads", "tokens/s", "min", "max", "GB/s", "GMAC/s", "of the limit"}};
  for (const Measurement& m : all) {
    rows.push_back({m.test, fmt::format("{}", session.n_threads()),
                    fmt::format("{:.1f}", median(m.rates)), fmt::format("{:.1f}", least(m.rates)),
                    fmt::format("{:.1f}", most(m.rates)), fmt::format("{:.1f}", m.gb_per_second),
                    fmt::format("{:.1f}", m.gmac_per_second),
                    fmt::format("{:.0f} %", 100 * m.limit_fraction)});
  }
  return table(rows, "lrrrrrrr") +
         fmt::format("limits here and now, {}: reading {:.1f} GB/s, int8 {:.0f} GMAC/s\n",
                     isa_name(session.isa()), bench.read_bandwidth() / 1e9,
                     bench.int8_peak() / 1e9);
}

Result<int> run_model(const Flags& flags) {
  EngineOptions options = ETCH_TRY(engine_options(flags.engine));
  options.needs_text = false;
  const int64_t longest = std::max(flags.prompt, flags.generate);
  if (options.compile.limits.n_ctx == 0 && longest > kDefaultContext)
    options.compile.limits.n_ctx = longest;
  const Engine engine = ETCH_TRY(load_model(flags.model, flags.engine, options));
  for (const std::string& w : engine.warnings) print_warning(w);
  const Lowered& lowered = *engine.compiled.lowered;
  const Work work = work_of(lowered.decode);
  Bench bench(engine);
  Interrupt interrupt(*engine.session);

  struct Test {
    std::string name;
    int64_t n;
    Result<double> (Bench::*run)(int64_t);
  };
  std::vector<Test> tests;
  if (flags.prompt > 0)
    tests.push_back({fmt::format("pp{}", flags.prompt), flags.prompt, &Bench::prompt});
  if (flags.generate > 0)
    tests.push_back({fmt::format("tg{}", flags.generate), flags.generate, &Bench::generate});
  std::vector<Measurement> all;
  Progress progress("run", std::ssize(tests) * flags.repetitions);
  for (const Test& test : tests) {
    Measurement m;
    m.test = test.name;
    ETCH_TRY((bench.*test.run)(
        std::min<int64_t>(test.n, test.run == &Bench::generate ? 8 : 512)));  // warm up
    for (int64_t r = 0; r < flags.repetitions; ++r) {
      bench.probe();
      m.rates.push_back(ETCH_TRY((bench.*test.run)(test.n)));
      progress.update(std::ssize(all) * flags.repetitions + r + 1);
    }
    bench.probe();
    const double rate = median(m.rates);
    const bool generates = test.run == &Bench::generate;
    const auto outputs = static_cast<double>(work.macs_per_output) *
                         (generates ? 1.0 : 1.0 / static_cast<double>(test.n));
    m.gmac_per_second = rate * (static_cast<double>(work.macs_per_row) + outputs) / 1e9;
    const int64_t rows_of_step = generates ? 1 : std::min(test.n, engine.session->max_rows());
    m.gb_per_second =
        rate / static_cast<double>(rows_of_step) * static_cast<double>(work.weight_bytes) / 1e9;
    all.push_back(std::move(m));
  }
  for (Measurement& m : all) {
    m.limit_fraction = m.test.starts_with("tg") ? m.gb_per_second * 1e9 / bench.read_bandwidth()
                                                : m.gmac_per_second * 1e9 / bench.int8_peak();
  }
  ETCH_TRY(flags.json ? put_json(to_json(bench, *engine.session, all))
                      : put(to_text(bench, *engine.session, all)));
  return 0;
}

}  // namespace

Action setup_bench(Parser& parser) {
  parser.describe(
      "Measures prompt and generation speed, and in the same run what the machine could do at "
      "best:\n"
      "generation against reading memory, prompts against int8 products.",
      "  etch bench model.gguf\n"
      "  etch bench model.gguf -p 512 -n 128 -t 2 -r 5 --json\n"
      "  etch bench matmul --type Q8_0 --rows 1024 --cols 1024 --batch 1024,1");
  auto flags = std::make_shared<Flags>();
  MatmulFlags& m = flags->matmul;
  add_model_options(parser, flags->model);
  parser.number("-p,--prompt", flags->prompt, "tokens of a prompt (default 512; 0: none)", 0,
                1 << 20);
  parser.number("-n,--generate", flags->generate, "tokens to generate (default 128; 0: none)", 0,
                1 << 20);
  parser.number("-r,--repetitions", flags->repetitions, "repetitions (default 5)", 1, 10000);
  parser.flag("--json", flags->json, "as JSON (etch.bench/1)");
  parser.group("etch bench matmul");
  parser.text("--type", m.type, "TYPE", "type of the weights (default Q8_0)");
  parser.number("--rows", m.rows, "rows of the matrix (default 1024)", 1, 1 << 16);
  parser.number("--cols", m.cols, "columns of the matrix (default 1024)", 1, 1 << 16);
  parser.numbers("--batch", m.batches, "vectors at once (default 1024,1)", 1);
  add_engine_options(parser, flags->engine);
  return [flags]() -> Result<int> {
    if (flags->model.model != "matmul") return run_model(*flags);
    const EngineOptions options = ETCH_TRY(engine_options(flags->engine));
    return bench_matmul(flags->matmul, flags->repetitions, options.session, flags->json);
  };
}

}  // namespace etch::cli
