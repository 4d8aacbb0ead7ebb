// drop_unused: what leads to no output and writes no state is left out. Inputs stay: they are what
// the caller gives.
#include "graph/passes/passes.h"

namespace etch {

void drop_unused(Graph& graph) {
  std::vector<char> used(graph.values.size());
  for (const GraphOutput& output : graph.outputs) used[static_cast<size_t>(output.value)] = 1;
  for (size_t id = graph.nodes.size(); id-- > 0;) {
    Node& node = graph.nodes[id];
    if (node.dead) continue;
    bool wanted = node.writes_state() || node.op == Op::input;
    for (const ValueId v : node.outputs) wanted = wanted || used[static_cast<size_t>(v)];
    node.dead = !wanted;
    if (wanted)
      for (const ValueId v : node.inputs) used[static_cast<size_t>(v)] = 1;
  }
}

}  // namespace etch
