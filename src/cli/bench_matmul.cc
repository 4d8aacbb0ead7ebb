#include "cli/bench_matmul.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "cli/render.h"
#include "dtypes/random_blocks.h"
#include "graph/builder.h"
#include "lower/lower.h"

namespace etch::cli {
namespace {

// Random codes with scales of sane size: every block is valid in every type, and no product
// overflows.
std::vector<uint8_t> random_weights(DType dtype, int64_t rows, int64_t cols) {
  Random random(7);
  return random_blocks(dtype, random, 1.0f, rows * cols);
}

// Runs for at least a millisecond at a time, so that the clock's own steps do not count.
double milliseconds_of_one(Session& session, int64_t times) {
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < times; ++i) {
    if (!session.run()) return 0;
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() * 1e3 /
         static_cast<double>(times);
}

struct Timing {
  int64_t batch = 0;
  std::string kernel;
  double min = 0, median = 0, max = 0;
};

Result<Timing> time_batch(DType dtype, const MatmulFlags& flags, int64_t batch, int64_t repetitions,
                          const SessionOptions& options) {
  const std::vector<uint8_t> weights = random_weights(dtype, flags.rows, flags.cols);
  Builder b("matmul");
  const ValueId x = b.input("x", Rows::once, {batch, flags.cols});
  const ValueId w = b.weight("w", dtype, {flags.rows, flags.cols}, weights.data());
  b.output("y", b.linear(x, w));
  const Graph graph = ETCH_TRY(std::move(b).finish());
  LowerOptions lowering;
  lowering.limits.n_threads = planned_threads(options);
  auto lowered = std::make_shared<const Lowered>(ETCH_TRY(lower(graph, {}, lowering)));
  Timing t;
  t.batch = batch;
  for (const Call& call : lowered->decode.calls) {
    if (call.kernel->args == ArgsKind::matmul) t.kernel = call.kernel->name;
  }
  const auto session = ETCH_TRY(Session::create(lowered, {}, options));
  Random random(8);
  for (float& v : ETCH_TRY(session->input("x")))
    v = static_cast<float>(static_cast<int64_t>(random.below(2001)) - 1000) / 500;
  ETCH_TRY(session->run());
  const double once = milliseconds_of_one(*session, 3);
  const int64_t times = std::max<int64_t>(3, static_cast<int64_t>(10 / std::max(once, 1e-4)));
  std::vector<double> all;
  for (int64_t r = 0; r < std::max<int64_t>(repetitions, 5); ++r)
    all.push_back(milliseconds_of_one(*session, times));
  std::sort(all.begin(), all.end());
  t.min = all.front();
  t.median = all[all.size() / 2];
  t.max = all.back();
  return t;
}

}  // namespace

Result<int> bench_matmul(const MatmulFlags& flags, int64_t repetitions,
                         const SessionOptions& session, bool json) {
  const auto dtype = dtype_of_name(flags.type);
  if (!dtype) return fail(ErrorKind::usage, "--type {}: there is no such type", flags.type);
  if (flags.cols % info(*dtype).block_elements != 0) {
    return fail(ErrorKind::usage, "--cols {}: rows of {} are multiples of {}", flags.cols,
                name(*dtype), info(*dtype).block_elements);
  }
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  std::vector<std::vector<std::string>> rows = {{"batch", "ms", "min", "max", "GMAC/s", "kernel"}};
  for (const int64_t batch : flags.batches) {
    const Timing t = ETCH_TRY(time_batch(*dtype, flags, batch, repetitions, session));
    const double gmac = static_cast<double>(batch * flags.rows * flags.cols) / (t.median * 1e6);
    results.push_back({{"batch", batch},
                       {"kernel", t.kernel},
                       {"milliseconds", {{"min", t.min}, {"median", t.median}, {"max", t.max}}},
                       {"gmac_per_second", gmac}});
    rows.push_back({fmt::format("{}", batch), fmt::format("{:.4f}", t.median),
                    fmt::format("{:.4f}", t.min), fmt::format("{:.4f}", t.max),
                    fmt::format("{:.1f}", gmac), t.kernel});
  }
  if (json) {
    ETCH_TRY(
        put_json({{"schema", "etch.bench/1"},
                  {"matmul", {{"type", name(*dtype)}, {"rows", flags.rows}, {"cols", flags.cols}}},
                  {"threads", planned_threads(session)},
                  {"results", std::move(results)}}));
  } else {
    ETCH_TRY(put(table(rows, "rrrrrl")));
  }
  return 0;
}

}  // namespace etch::cli
