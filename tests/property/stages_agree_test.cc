// Stages agree: what the executor computes of a plan is what interpret() computes of its graph,
// within the rounding of its kernels; and the same bits whatever passes are left out, however a
// prompt is cut into steps, and however many threads there are.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "graph/interpret.h"
#include "lower/lower.h"
#include "session/session.h"
#include "support/model_graphs.h"
#include "support/random_graph.h"

namespace etch {
namespace {

// Outputs by name, a row of numbers for each row of the sequence.
using Rows2 = std::map<std::string, std::vector<std::vector<float>>>;

constexpr int32_t kTokens[] = {5, 1,  33, 7,  7, 20, 39, 0,  12, 2,  9, 31,
                               8, 25, 3,  17, 6, 11, 4,  38, 22, 14, 1};

struct Way {
  int64_t chunk = 23;
  int32_t n_threads = 1;
  etch_isa isa = ETCH_SCALAR;
  bool guard = false;
  std::set<std::string> without;
};

LowerOptions options_of(const Way& way) {
  LowerOptions options;
  options.limits.n_ctx = 256;
  options.limits.n_rows = 64;
  options.limits.n_outputs = 64;
  options.limits.n_threads = way.n_threads;
  options.limits.kv = KvType::f32;
  options.without = way.without;
  return options;
}

Result<Rows2> run(const Graph& graph, const Way& way) {
  auto lowered = std::make_shared<Lowered>(ETCH_TRY(lower(graph, Target{}, options_of(way))));
  auto session = ETCH_TRY(Session::create(
      lowered, {}, {.n_threads = way.n_threads, .isa = way.isa, .guard = way.guard}));
  Rows2 rows;
  const auto keep = [&](int64_t n) -> Status {
    for (const Output& o : lowered->outputs) {
      const std::span<const float> values = ETCH_TRY(session->output(o.name));
      const auto each = values.size() / static_cast<size_t>(n);
      for (int64_t r = 0; r < n; ++r) {
        const auto first =
            values.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(r) * each);
        rows[o.name].emplace_back(first, first + static_cast<std::ptrdiff_t>(each));
      }
    }
    return {};
  };
  if (!lowered->has_tokens) {
    Random random(3);
    for (const Input& input : lowered->inputs)
      for (float& x : ETCH_TRY(session->input(input.name))) x = random.normal();
    ETCH_TRY(session->run());
    ETCH_TRY(keep(1));
    return rows;
  }
  const SequenceId id = ETCH_TRY(session->create_sequence());
  const auto n_tokens = static_cast<int64_t>(std::size(kTokens));
  for (int64_t first = 0; first < n_tokens; first += way.chunk) {
    std::vector<BatchRow> batch;
    for (int64_t p = first; p < std::min(first + way.chunk, n_tokens); ++p)
      batch.push_back({kTokens[p], id, static_cast<int32_t>(p), true});
    ETCH_TRY(session->step(batch));
    ETCH_TRY(keep(static_cast<int64_t>(batch.size())));
  }
  return rows;
}

Result<Rows2> judge(const Graph& graph) {
  std::vector<InterpretRow> batch;
  std::vector<InterpretInput> inputs;
  Random random(3);
  bool has_tokens = false;
  for (const ValueId v : graph.inputs) {
    has_tokens |= graph.value(v).rows == Rows::tokens;
    if (graph.value(v).rows == Rows::tokens) continue;
    InterpretInput input = {std::get<std::string>(*graph.maker(v).find("name"))};
    for (int64_t i = 0; i < graph.value(v).elements(); ++i) input.real.push_back(random.normal());
    inputs.push_back(std::move(input));
  }
  for (size_t p = 0; has_tokens && p < std::size(kTokens); ++p)
    batch.push_back({.token = kTokens[p], .position = static_cast<int32_t>(p)});
  KeptStates states;
  const Interpreted result = ETCH_TRY(interpret(graph, batch, states, Precision::float32, inputs));
  Rows2 rows;
  for (const InterpretedOutput& o : result.outputs) {
    const auto each = static_cast<std::ptrdiff_t>(o.values.size()) / o.rows;
    for (int64_t r = 0; r < o.rows; ++r)
      rows[o.name].emplace_back(o.values.begin() + r * each, o.values.begin() + (r + 1) * each);
  }
  return rows;
}

// The first difference in bits, or "".
std::string difference(const Rows2& a, const Rows2& b) {
  for (const auto& [name, rows] : a) {
    const auto it = b.find(name);
    if (it == b.end() || it->second.size() != rows.size()) return name + ": other rows";
    for (size_t r = 0; r < rows.size(); ++r)
      for (size_t i = 0; i < rows[r].size(); ++i)
        if (std::memcmp(&rows[r][i], &it->second[r][i], 4) != 0)
          return fmt::format("{} row {} [{}]: {} and {}", name, r, i, rows[r][i], it->second[r][i]);
  }
  return "";
}

// The largest distance in units of the output's own size (root mean square over all its rows).
double distance(const Rows2& a, const Rows2& b, std::string& where) {
  double most = 0;
  for (const auto& [name, rows] : a) {
    const auto& others = b.at(name);
    EXPECT_EQ(rows.size(), others.size()) << name;
    double sum = 0, n = 0;
    for (const auto& row : others)
      for (const float x : row) {
        sum += double{x} * x;
        n += 1;
      }
    const double size = std::sqrt(sum / n) + 1e-3;
    for (size_t r = 0; r < rows.size(); ++r)
      for (size_t i = 0; i < rows[r].size(); ++i) {
        const double d = std::abs(double{rows[r][i]} - others[r][i]) / size;
        if (d <= most && std::isfinite(d)) continue;
        most = std::isfinite(d) ? d : 1e30;
        where = fmt::format("{} row {} [{}]: {} and {}", name, r, i, rows[r][i], others[r][i]);
      }
  }
  return most;
}

model_graphs::Shape tiny_shape(int which) {
  model_graphs::Shape s =
      model_graphs::tiny(which == 1 ? model_graphs::gemma3_270m() : model_graphs::Shape{});
  s.bias = which == 2;
  if (which == 3) {
    s.n_experts = 8;
    s.n_used = 2;
  }
  s.n_vocab = 96;
  if (which == 1)
    s.type = [](const std::string& part, int64_t layer) {
      return part == "ffn_down"                 ? DType::q6_k
             : (part == "attn_v" && layer == 0) ? DType::q8_0
                                                : DType::q5_0;
    };
  return s;
}

TEST(StagesAgree, on_small_models_within_the_rounding_of_activations) {
  for (int which = 0; which < 3; ++which) {
    model_graphs::Weights weights(true, 11);
    const Result<Graph> graph = model_graphs::make(tiny_shape(which), weights);
    ASSERT_TRUE(graph) << graph.error().message;
    const Result<Rows2> expected = judge(*graph);
    ASSERT_TRUE(expected) << expected.error().message;
    const Result<Rows2> got = run(*graph, {});
    ASSERT_TRUE(got) << got.error().message;
    std::string where;
    EXPECT_LT(distance(*got, *expected, where), 0.15) << which << ": " << where;
  }
}

TEST(StagesAgree, on_small_float_models_closely) {
  for (int which = 0; which < 4; ++which) {
    model_graphs::Shape s = tiny_shape(which);
    s.type = [](const std::string& part, int64_t) {
      return part == "attn_q" ? DType::f16 : part == "ffn_up" ? DType::bf16 : DType::f32;
    };
    s.embedding = DType::f32;
    model_graphs::Weights weights(true, 12);
    const Result<Graph> graph = model_graphs::make(s, weights);
    ASSERT_TRUE(graph) << graph.error().message;
    std::string where;
    const Result<Rows2> got = run(*graph, {});
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_LT(distance(*got, *judge(*graph), where), 1e-3) << which << ": " << where;
  }
}

TEST(StagesAgree, bit_for_bit_in_any_way_of_running) {
  for (int which = 0; which < 4; ++which) {
    model_graphs::Weights weights(true, 13);
    const Result<Graph> graph = model_graphs::make(tiny_shape(which), weights);
    const Result<Rows2> expected = run(*graph, {});
    ASSERT_TRUE(expected) << expected.error().message;
    std::vector<Way> ways = {{.chunk = 1},
                             {.chunk = 5},
                             {.chunk = 16},
                             {.chunk = 17},
                             {.n_threads = 2},
                             {.chunk = 1, .n_threads = 3},
                             {.chunk = 7, .n_threads = 2, .guard = true},
                             {.n_threads = 2, .guard = true}};
    for (const std::string& pass : lowering_passes()) {
      ways.push_back({.n_threads = 2, .without = {pass}});
      ways.push_back({.chunk = 6, .without = {pass}});
    }
    const auto all = lowering_passes();
    ways.push_back({.without = {all.begin(), all.end()}});
    for (const etch_isa isa : {ETCH_AVX2, ETCH_AVX512, ETCH_AVX512_VNNI})
      if (cpu_has(isa) && all_kernels()[0].fn[isa] != nullptr)
        ways.push_back({.chunk = 20, .n_threads = 2, .isa = isa});
    for (const Way& way : ways) {
      const Result<Rows2> got = run(*graph, way);
      ASSERT_TRUE(got) << got.error().message;
      EXPECT_EQ(difference(*expected, *got), "")
          << which << ", chunks of " << way.chunk << ", " << way.n_threads << " threads, "
          << isa_name(way.isa) << ", without " << (way.without.empty() ? "" : *way.without.begin());
    }
  }
}

TEST(StagesAgree, on_random_graphs) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    for (const Rows rows : {Rows::tokens, Rows::once}) {
      model_graphs::Weights weights(true, seed);
      random_graph::Maker maker(seed, rows, weights, /*floats=*/true);
      const Result<Graph> graph = maker.make(20);
      ASSERT_TRUE(graph) << seed << ": " << graph.error().message;
      const Result<Rows2> got = run(*graph, {});
      ASSERT_TRUE(got) << seed << ": " << got.error().message;
      const Result<Rows2> expected = judge(*graph);
      ASSERT_TRUE(expected) << seed << ": " << expected.error().message;
      std::string where;
      EXPECT_LT(distance(*got, *expected, where), 5e-3) << seed << ": " << where;
    }
  }
}

TEST(StagesAgree, on_random_quantised_graphs_bit_for_bit_without_passes) {
  for (uint64_t seed = 100; seed < 140; ++seed) {
    for (const Rows rows : {Rows::tokens, Rows::once}) {
      model_graphs::Weights weights(true, seed);
      random_graph::Maker maker(seed, rows, weights);
      maker.every_attention_has_a_cache = true;  // without, a prompt must be one step
      const Result<Graph> graph = maker.make(20);
      ASSERT_TRUE(graph) << seed << ": " << graph.error().message;
      const Result<Rows2> expected = run(*graph, {});
      ASSERT_TRUE(expected) << seed << ": " << expected.error().message;
      Random random(seed);
      Way way = {.chunk = 1 + random.below(23), .n_threads = 2, .guard = random.below(2) == 0};
      for (const std::string& pass : lowering_passes())
        if (random.below(2) == 0) way.without.insert(pass);
      const Result<Rows2> got = run(*graph, way);
      ASSERT_TRUE(got) << seed << ": " << got.error().message;
      EXPECT_EQ(difference(*expected, *got), "") << seed;
    }
  }
}

}  // namespace
}  // namespace etch
