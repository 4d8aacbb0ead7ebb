// Every mutant of a circuit that runs is refused, or changes the logits of the unmutated circuit's
// made-up model, or stands in tests/mutants/equivalents.txt with the reason. The ordinary run draws
// 200 a circuit; ETCH_MUTANTS=all takes all of them (scripts/mutants).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <numeric>
#include <set>

#include "base/random.h"
#include "circuit/bind.h"
#include "circuit/check.h"
#include "circuit/library.h"
#include "graph/build_graph.h"
#include "graph/interpret.h"
#include "study/mutants.h"
#include "study/synth_model.h"

namespace etch {
namespace {

constexpr std::string_view kRunning[] = {"llama", "qwen2", "qwen3", "gemma3", "mixtral"};
constexpr size_t kDrawn = 200;
constexpr uint64_t kSeed = 20240229;
constexpr double kSeen = 1e-3;  // of the standard deviation of the logits

using Outputs = std::map<std::string, std::vector<double>, std::less<>>;

Result<Outputs> outputs_of(std::shared_ptr<const Circuit> circuit,
                           std::shared_ptr<const Model> model) {
  const Binding binding = ETCH_TRY(bind(std::move(circuit), std::move(model), {.strict = true}));
  const Graph graph = ETCH_TRY(build_graph(binding));
  std::vector<InterpretRow> rows;
  for (int32_t i = 0; i < 12; ++i) rows.push_back({(i * 37 + 11) % 96, 0, i, true});
  KeptStates states;
  const Interpreted made = ETCH_TRY(interpret(graph, rows, states));
  Outputs out;
  for (const InterpretedOutput& o : made.outputs) out[o.name] = o.values;
  return out;
}

// The largest difference in standard deviations of the reference; infinite where shapes or names
// differ.
double distance(const Outputs& a, const Outputs& b) {
  double worst = 0;
  if (a.size() != b.size()) return INFINITY;
  for (const auto& [name, x] : a) {
    const auto other = b.find(name);
    if (other == b.end() || other->second.size() != x.size()) return INFINITY;
    const double n = static_cast<double>(x.size());
    const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
    double variance = 0, most = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      variance += (x[i] - mean) * (x[i] - mean) / n;
      most = std::max(most, std::abs(x[i] - other->second[i]));
      if (!std::isfinite(other->second[i])) return INFINITY;
    }
    worst = std::max(worst, most / std::sqrt(variance));
  }
  return worst;
}

// Lines "circuit | description | reason"; # begins a comment.
std::set<std::pair<std::string, std::string>> equivalents() {
  std::set<std::pair<std::string, std::string>> out;
  std::ifstream in(ETCH_SOURCE_DIR "/tests/mutants/equivalents.txt");
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t a = line.find(" | "), b = line.rfind(" | ");
    if (a == std::string::npos || b == a) {
      ADD_FAILURE() << "no 'circuit | mutant | reason': " << line;
      continue;
    }
    out.insert({line.substr(0, a), line.substr(a + 3, b - a - 3)});
  }
  return out;
}

std::vector<Mutant> drawn(std::vector<Mutant> all) {
  const char* wanted = std::getenv("ETCH_MUTANTS");
  if ((wanted != nullptr && std::string(wanted) == "all") || all.size() <= kDrawn) return all;
  Random random(kSeed);
  for (size_t i = all.size() - 1; i > 0; --i)
    std::swap(all[i], all[static_cast<size_t>(random.below(static_cast<int64_t>(i) + 1))]);
  all.resize(kDrawn);
  return all;
}

TEST(Mutants, AreRefusedOrSeenOrKnownToBeEquivalent) {
  const auto library = load_library();
  ASSERT_TRUE(library.has_value());
  const auto known = equivalents();
  for (const std::string_view name : kRunning) {
    const auto circuit = library->find(name);
    const auto model = synth_model(*circuit, {.seed = 3});
    ASSERT_TRUE(model.has_value()) << model.error().message;
    const auto reference = outputs_of(circuit, *model);
    ASSERT_TRUE(reference.has_value()) << reference.error().message;
    int refused = 0, seen = 0, equivalent = 0;
    for (const Mutant& m : drawn(mutants_of(*circuit))) {
      auto parsed = parse_circuit(m.text, circuit->file);
      if (!parsed.has_value()) {
        ++refused;
        continue;
      }
      const auto shared = std::make_shared<const Circuit>(std::move(*parsed));
      const Diagnostics found = check_circuit(*shared);
      if (found.count(Severity::error) + found.count(Severity::warning) > 0) {
        ++refused;
        continue;
      }
      const auto outputs = outputs_of(shared, *model);
      if (!outputs.has_value())
        ++refused;
      else if (distance(*reference, *outputs) > kSeen)
        ++seen;
      else if (known.contains({std::string(name), m.description}))
        ++equivalent;
      else
        ADD_FAILURE() << name << ".circuit:" << m.line << ": " << m.description
                      << ": nothing notices";
    }
    std::cout << name << ": " << refused << " refused, " << seen << " seen, " << equivalent
              << " equivalent\n";
  }
}

}  // namespace
}  // namespace etch
