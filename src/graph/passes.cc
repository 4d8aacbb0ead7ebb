#include "graph/passes.h"

#include <algorithm>
#include <chrono>

#include "graph/passes/passes.h"
#include "graph/verify.h"

namespace etch {
namespace {

// clang-format off
constexpr GraphPass kPasses[] = {
    {"fold_constants", "compute what is known when the graph is built",         fold_constants},
    {"drop_unused",    "leave out what nobody uses",                            drop_unused},
    {"share_common",   "compute the same thing once",                           share_common},
    {"last_rows",      "after the last state, only the rows that want outputs", last_rows},
};
// clang-format on

int64_t n_alive(const Graph& graph) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(),
                       [](const Node& node) { return !node.dead; });
}

}  // namespace

std::span<const GraphPass> graph_passes() { return kPasses; }

Result<std::vector<PassRecord>> run_passes(Graph& graph, const PassOptions& options) {
  for (const std::string& name : options.without)
    if (std::none_of(std::begin(kPasses), std::end(kPasses),
                     [&](const GraphPass& pass) { return pass.name == name; }))
      return fail(ErrorKind::usage, "no graph pass is called '{}'", name);
  std::vector<PassRecord> records;
  for (const GraphPass& pass : kPasses) {
    if (options.without.contains(pass.name)) continue;
    PassRecord record = {.name = pass.name, .nodes_before = n_alive(graph)};
    const auto start = std::chrono::steady_clock::now();
    pass.run(graph);
    record.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    record.nodes_after = n_alive(graph);
    ETCH_TRY(verify(graph).context(fmt::format("after {}", pass.name)));
    if (options.after) options.after(pass.name, graph);
    records.push_back(record);
  }
  return records;
}

}  // namespace etch
