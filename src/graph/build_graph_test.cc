// Whole models: circuits over the files of data/tiny-hf, evaluated plainly, against the logits of
// other people's implementation.
#include "graph/build_graph.h"

#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <set>

#include "circuit/bind.h"
#include "circuit/library.h"
#include "graph/interpret.h"
#include "graph/passes.h"
#include "graph/verify.h"
#include "support/tiny_gguf.h"
#include "support/tiny_hf.h"

namespace etch {
namespace {

using Ids = std::vector<int32_t>;
using Numbers = std::vector<double>;

const CircuitLibrary& circuits() {
  static const Result<CircuitLibrary> library = load_library();
  return library.value();
}

using Changes = std::vector<std::pair<std::string, uint32_t>>;

// The published file of a sliding-window model lacks the key: the test adds what config.json says.
Changes changes_for(const std::string& name) {
  if (name == "mistral") return {{"attention.sliding_window", 12}};
  return {};
}

// The tiny models that a circuit of etch is for and whose file (with the changes) tells all.
struct Covered {
  std::vector<std::string> decoders, encoders;
  std::set<std::string> circuits;  // their names
};

const Covered& covered() {
  static const Covered all = [] {
    Covered c;
    for (const std::string& name : test::tiny_hf_names()) {
      const test::TinyHf reference = test::tiny_hf(name);
      if (!reference.gguf_tells_all && changes_for(name).empty()) continue;
      const auto circuit = find_circuit(circuits(), read_model(reference.model).value());
      if (!circuit.has_value()) continue;
      c.circuits.insert((*circuit)->name.text);
      (reference.logits.empty() ? c.encoders : c.decoders).push_back(name);
    }
    return c;
  }();
  return all;
}

// The file as it is, or a copy with keys of its architecture changed.
std::shared_ptr<const Model> model_of(const test::TinyHf& reference, const Changes& changes) {
  if (changes.empty()) return std::make_shared<const Model>(read_model(reference.model).value());
  const GgufFile file = read_gguf(reference.model).value();
  GgufContents contents;
  for (const Key& key : file.keys) contents.set(key.name, key.value);
  for (const auto& [key, value] : changes) contents.set(reference.arch + "." + key, value);
  for (const TensorInfo& t : file.tensors)
    contents.add_tensor(t.name, t.dtype, t.dims, file.data(t));
  const std::vector<uint8_t> bytes = gguf_bytes(contents, {}).value();
  return std::make_shared<const Model>(
      read_model(read_gguf(test::mapping_of(bytes)).value()).value());
}

struct Bound {
  Binding binding;
  Graph main, encode;
};

// A model in plain evaluation: one step after another, for any number of sequences.
struct Oracle {
  const Graph& graph;
  KeptStates states;
  Precision precision = Precision::float32;

  Numbers step(const std::vector<InterpretRow>& rows, std::string_view output = "logits") {
    const Result<Interpreted> y = interpret(graph, rows, states, precision);
    if (!y.has_value()) {
      ADD_FAILURE() << y.error().message;
      return {};
    }
    const InterpretedOutput* found = y->find(output);
    EXPECT_NE(found, nullptr) << graph.name << " has no output " << output;
    return found ? found->values : Numbers{};
  }
};

std::vector<InterpretRow> rows_of(const Ids& ids, int32_t sequence = 0, size_t first = 0,
                                  size_t count = SIZE_MAX) {
  std::vector<InterpretRow> rows;
  for (size_t i = first; i < ids.size() && i - first < count; ++i)
    rows.push_back({ids[i], sequence, static_cast<int32_t>(i), true});
  return rows;
}

size_t best_of(const Numbers& logits, size_t row, size_t n_vocab) {
  const auto first = logits.begin() + static_cast<int64_t>(row * n_vocab);
  return static_cast<size_t>(std::max_element(first, first + static_cast<int64_t>(n_vocab)) -
                             first);
}

class TinyModels : public testing::TestWithParam<std::string> {
 protected:
  static Bound bound(const test::TinyHf& reference, const Changes& changes) {
    const std::shared_ptr<const Model> model = model_of(reference, changes);
    const auto circuit = find_circuit(circuits(), *model).value();
    Result<Binding> binding = bind(circuit, model);
    EXPECT_TRUE(binding.has_value()) << binding.error().message;
    Bound b;
    if (!binding.has_value()) return b;
    b.binding = std::move(*binding);
    b.main = graph_of(b.binding, "");
    if (circuit->flow("encode")) b.encode = graph_of(b.binding, "encode");
    return b;
  }
  static Bound bound(const test::TinyHf& reference) {
    return bound(reference, changes_for(reference.name));
  }

  static Graph graph_of(const Binding& binding, std::string_view flow) {
    Result<Graph> graph = build_graph(binding, flow);
    EXPECT_TRUE(graph.has_value()) << graph.error().message;
    if (!graph.has_value()) return {};
    const Status ok = verify(*graph);
    EXPECT_TRUE(ok.has_value()) << ok.error().message;
    return std::move(*graph);
  }

  // States with the text that the encoder reads, for sequence 0.
  static KeptStates encoded(const Bound& b, const test::TinyHf& reference, size_t which) {
    KeptStates states;
    if (reference.encoder_token_ids.empty()) return states;
    const auto done = interpret(b.encode, rows_of(reference.encoder_token_ids[which]), states);
    EXPECT_TRUE(done.has_value()) << done.error().message;
    return states;
  }
};

class TinyEncoders : public TinyModels {};

TEST_P(TinyModels, GiveTheLogitsOfTheirAuthors) {
  const test::TinyHf reference = test::tiny_hf(GetParam());
  const Bound b = bound(reference);
  const Ids& ids = reference.token_ids[0];
  const KeptStates start = encoded(b, reference, 0);
  const double deviation = test::standard_deviation(reference.logits);
  const size_t n_vocab = reference.logits.size() / ids.size();

  const Numbers whole = Oracle{b.main, start}.step(rows_of(ids));
  ASSERT_EQ(whole.size(), reference.logits.size());
  const double distance = test::distance(whole, reference.logits);
  EXPECT_LE(distance, reference.tolerance);
  for (size_t i = 0; i < ids.size(); ++i)
    if (reference.argmax_margin[0][i] > 2 * reference.tolerance * deviation) {
      EXPECT_EQ(best_of(whole, i, n_vocab), static_cast<size_t>(reference.argmax[0][i])) << i;
    }

  // One by one, and in pieces of 7: the same bits.
  for (const size_t piece : {size_t{1}, size_t{7}}) {
    Oracle oracle{b.main, start};
    Numbers pieces;
    for (size_t i = 0; i < ids.size(); i += piece)
      for (const double x : oracle.step(rows_of(ids, 0, i, piece))) pieces.push_back(x);
    EXPECT_EQ(pieces, whole) << "in pieces of " << piece;
  }

  // Without etch's order of sums: closer to the reference, or as close.
  const Numbers exact = Oracle{b.main, start, Precision::float64}.step(rows_of(ids));
  const double exact_distance = test::distance(exact, reference.logits);
  EXPECT_LE(exact_distance, reference.tolerance);

  // Every pass at once: the same bits.
  Graph passed = b.main;
  ASSERT_TRUE(run_passes(passed).has_value());
  EXPECT_EQ((Oracle{passed, start}.step(rows_of(ids))), whole);

  std::cout << fmt::format(
      "{:<16} {:<14} max diff / std: float32 {:.1e}, float64 {:.1e} (limit {:.0e})\n",
      reference.name, b.main.name, distance, exact_distance, reference.tolerance);
}

TEST_P(TinyModels, ContinueGreedilyAsTheirAuthorsDo) {
  const test::TinyHf reference = test::tiny_hf(GetParam());
  const Bound b = bound(reference);
  const double deviation = test::standard_deviation(reference.logits);
  const size_t n_vocab = reference.logits.size() / reference.token_ids[0].size();
  Ids ids = reference.token_ids[reference.greedy_from];
  Oracle oracle{b.main, encoded(b, reference, reference.greedy_from)};
  Numbers logits = oracle.step(rows_of(ids));
  for (size_t i = 0; i < reference.greedy_ids.size(); ++i) {
    ASSERT_GE(logits.size(), n_vocab);
    const size_t best = best_of(logits, logits.size() / n_vocab - 1, n_vocab);
    if (reference.greedy_margin[i] > 2 * reference.tolerance * deviation) {
      ASSERT_EQ(best, static_cast<size_t>(reference.greedy_ids[i])) << "token " << i;
    }
    ids.push_back(reference.greedy_ids[i]);
    logits = oracle.step(rows_of(ids, 0, ids.size() - 1));
  }
}

TEST_P(TinyModels, SequencesTogetherAreEachAlone) {
  const test::TinyHf reference = test::tiny_hf(GetParam());
  const Bound b = bound(reference);
  // Sequences 0 and 5, each with its own encoded text where the model reads one.
  KeptStates start = encoded(b, reference, 0);
  if (!start.empty()) start[5] = encoded(b, reference, 1)[0];
  const std::vector<InterpretRow> one = rows_of(reference.token_ids[0], 0, 0, 20);
  const std::vector<InterpretRow> other = rows_of(reference.token_ids[1], 5);
  Numbers alone = Oracle{b.main, start}.step(one);
  for (const double x : Oracle{b.main, start}.step(other)) alone.push_back(x);
  std::vector<InterpretRow> both = one;
  both.insert(both.end(), other.begin(), other.end());
  EXPECT_EQ((Oracle{b.main, start}.step(both)), alone);
}

TEST_P(TinyEncoders, EmbedAsTheirAuthorsDo) {
  const test::TinyHf reference = test::tiny_hf(GetParam());
  struct Kind {
    uint32_t key;
    const std::vector<float>& wanted;
  };
  for (const Kind& kind :
       {Kind{0, reference.hidden}, Kind{1, reference.pooled_mean}, Kind{2, reference.pooled_cls}}) {
    const Bound b = bound(reference, {{"pooling_type", kind.key}});
    const Numbers got = Oracle{b.main, {}}.step(rows_of(reference.token_ids[0]), "embedding");
    const double distance = test::distance(got, kind.wanted);
    EXPECT_LE(distance, reference.tolerance) << "pooling " << kind.key;
    std::cout << fmt::format("{:<16} {:<14} pooling {}: max diff / std {:.1e} (limit {:.0e})\n",
                             reference.name, b.main.name, kind.key, distance, reference.tolerance);
  }
}

// A circuit without a reference proves nothing: those that have none are named here.
TEST(TinyModelsCover, EveryCircuitThatHasAReference) {
  if (!test::shared_dir()) GTEST_SKIP() << "the reference data are not here";
  const std::set<std::string> without_reference = {"rwkv7"};
  for (const auto& circuit : circuits().places.back().circuits)
    EXPECT_TRUE(covered().circuits.contains(circuit->name.text) ||
                without_reference.contains(circuit->name.text))
        << circuit->name.text;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(Hf, TinyModels, testing::ValuesIn(covered().decoders), test_name);
INSTANTIATE_TEST_SUITE_P(Hf, TinyEncoders, testing::ValuesIn(covered().encoders), test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TinyModels);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TinyEncoders);

}  // namespace
}  // namespace etch
