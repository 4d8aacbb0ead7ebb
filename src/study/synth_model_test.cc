#include "study/synth_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "circuit/bind.h"
#include "circuit/library.h"
#include "graph/build_graph.h"
#include "graph/interpret.h"
#include "study/mutants.h"

namespace etch {
namespace {

constexpr std::string_view kRunning[] = {"llama", "qwen2", "qwen3", "gemma3", "mixtral"};

Result<std::vector<double>> logits_of(std::shared_ptr<const Circuit> circuit,
                                      std::shared_ptr<const Model> model, int32_t n_vocab) {
  const Binding binding = ETCH_TRY(bind(std::move(circuit), std::move(model)));
  const Graph graph = ETCH_TRY(build_graph(binding));
  std::vector<InterpretRow> rows;
  for (int32_t i = 0; i < 12; ++i) rows.push_back({(i * 37 + 11) % n_vocab, 0, i, true});
  KeptStates states;
  const Interpreted out = ETCH_TRY(interpret(graph, rows, states));
  const InterpretedOutput* logits = out.find("logits");
  if (logits == nullptr) return fail(ErrorKind::internal, "no logits");
  return logits->values;
}

TEST(Synth, EveryRunningCircuitGetsModelsThatBindAndCompute) {
  const auto library = load_library();
  ASSERT_TRUE(library.has_value());
  for (const std::string_view name : kRunning)
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      const auto circuit = library->find(name);
      SynthOptions options;
      options.seed = seed;
      options.optional = seed == 1   ? SynthOptions::Optional::all
                         : seed == 2 ? SynthOptions::Optional::none
                                     : SynthOptions::Optional::drawn;
      options.packed = seed == 3;
      options.pieces = seed == 4;
      if (seed > 1)
        options.types = {DType::q4_0, DType::q8_0, DType::q4_k,
                         DType::f16,  DType::bf16, DType::q6_k};
      options.width = seed == 4 ? 256 : 64;
      const auto model = synth_model(*circuit, options);
      ASSERT_TRUE(model.has_value()) << name << " " << seed << ": " << model.error().message;
      EXPECT_EQ((*find_circuit(*library, **model))->name.text, name);
      const auto logits = logits_of(circuit, *model, 96);
      ASSERT_TRUE(logits.has_value()) << name << " " << seed << ": " << logits.error().message;
      ASSERT_EQ(logits->size(), 12u * 96u);
      double mean = 0, spread = 0;
      for (const double x : *logits) mean += x / static_cast<double>(logits->size());
      for (const double x : *logits)
        spread += (x - mean) * (x - mean) / static_cast<double>(logits->size());
      EXPECT_TRUE(std::isfinite(spread) && spread > 1e-4 && spread < 1e4)
          << name << " " << seed << " " << spread;
    }
}

TEST(Synth, TheSameSeedMakesTheSameFile) {
  const auto library = load_library();
  const auto a = synth_gguf(*library->find("mixtral")), b = synth_gguf(*library->find("mixtral"));
  ASSERT_TRUE(a.has_value() && b.has_value());
  EXPECT_EQ(*a, *b);
}

TEST(Mutants, AllAreDifferentTextsInTheOrderOfTheCircuit) {
  const auto library = load_library();
  const auto llama = library->find("llama");
  const std::vector<Mutant> all = mutants_of(*llama);
  EXPECT_GT(all.size(), 45u);
  for (const Mutant& m : all) EXPECT_NE(m.text, llama->text) << m.description;
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(),
                             [](const Mutant& a, const Mutant& b) { return a.line < b.line; }));
  const auto has = [&](const std::string& d) {
    return std::any_of(all.begin(), all.end(), [&](const Mutant& m) { return m.description == d; });
  };
  EXPECT_TRUE(has("without 'h = rmsnorm(x, attn_norm, eps)' (flow)"));
  EXPECT_TRUE(has("without 'require n_rot == d_head' (dims)"));
  EXPECT_TRUE(has("k <-> v"));
}

}  // namespace
}  // namespace etch
