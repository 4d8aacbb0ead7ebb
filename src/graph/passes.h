// The passes over a graph: one ordered list. Each keeps the meaning to the bit, so that any subset
// gives the same results; each is verified after, timed, and can be left out by name.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace etch {

struct GraphPass {
  std::string_view name;
  std::string_view what;  // one line for people
  void (*run)(Graph& graph);
};
std::span<const GraphPass> graph_passes();

struct PassRecord {
  std::string_view name;
  double seconds = 0;
  int64_t nodes_before = 0, nodes_after = 0;  // that are alive
};

struct PassOptions {
  std::set<std::string, std::less<>> without;  // names of passes to leave out
  std::function<void(std::string_view pass, const Graph& graph)> after;  // to print each stage
};

// Fails where `without` names no pass, and as verify() does where a pass broke the graph.
Result<std::vector<PassRecord>> run_passes(Graph& graph, const PassOptions& options = {});

}  // namespace etch
