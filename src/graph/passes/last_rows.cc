// last_rows: after the last state write, a prompt of 500 tokens needs only the rows that want
// outputs, often one. `outputs_only` moves up past everything that works on one token at a time and
// leads nowhere else:
//
//   x -> norm -> linear -> outputs_only -> logits        x -> outputs_only -> norm -> linear ->
//   logits
//
// so that the head, and the last layer behind its attention, compute R rows instead of N.
#include <algorithm>
#include <optional>

#include "graph/passes/passes.h"

namespace etch {
namespace {

bool is_per_token(const Node& node) {
  const OpFamily family = info(node.op).family;
  if (family == OpFamily::graph) return node.op != Op::input && node.op != Op::outputs_only;
  return family != OpFamily::mixing;
}

struct LastRows {
  Graph& graph;
  std::vector<char> narrow;   // nodes that may compute the rows that want outputs alone
  std::vector<ValueId> twin;  // by value of all tokens: the same of the rows that want outputs

  // Only the graph's outputs read what an `outputs_only` gives.
  bool ends_here(const Node& node, const std::vector<char>& read_by_nodes) const {
    return node.op == Op::outputs_only && !read_by_nodes[static_cast<size_t>(node.outputs[0])];
  }

  void find_narrow() {
    std::vector<char> read(graph.values.size()), needed(graph.values.size()),
        wanted(graph.values.size());
    for (const Node& node : graph.nodes)
      for (const ValueId v : node.inputs) read[static_cast<size_t>(v)] |= !node.dead;
    for (const GraphOutput& output : graph.outputs) needed[static_cast<size_t>(output.value)] = 1;
    // needed: some reader wants all tokens of it; wanted: some reader is narrow
    narrow.assign(graph.nodes.size(), 0);
    for (size_t id = graph.nodes.size(); id-- > 0;) {
      const Node& node = graph.nodes[id];
      if (node.dead) continue;
      bool can = is_per_token(node) && !node.outputs.empty(), any = false;
      for (const ValueId v : node.outputs) {
        can = can && graph.value(v).rows == Rows::tokens && !needed[static_cast<size_t>(v)];
        any = any || wanted[static_cast<size_t>(v)];
      }
      narrow[id] = can && any;
      const bool narrows = narrow[id] || ends_here(node, read);
      for (const ValueId v : node.inputs) (narrows ? wanted : needed)[static_cast<size_t>(v)] = 1;
    }
  }

  ValueId add(Node node, Value value) {
    const ValueId v = static_cast<ValueId>(graph.values.size());
    value.rows = Rows::outputs;
    value.node = static_cast<NodeId>(graph.nodes.size());
    value.output = static_cast<int>(node.outputs.size());
    graph.values.push_back(std::move(value));
    node.outputs.push_back(v);
    graph.nodes.push_back(std::move(node));
    return v;
  }

  ValueId twin_of(ValueId v) {
    const Value value = graph.value(v);
    if (value.rows != Rows::tokens) return v;
    ValueId& known = twin[static_cast<size_t>(v)];
    if (known == kNoValue) {
      Node node{.op = Op::outputs_only, .inputs = {v}, .origin = graph.maker(v).origin};
      known = add(std::move(node), value);
    }
    return known;
  }

  void copy_narrow(const Node& original) {
    Node node = original;
    for (ValueId& v : node.inputs) v = twin_of(v);
    node.outputs.clear();
    const NodeId id = static_cast<NodeId>(graph.nodes.size());
    for (const ValueId v : original.outputs) {
      Value value = graph.value(v);
      value.rows = Rows::outputs;
      value.node = id;
      node.outputs.push_back(static_cast<ValueId>(graph.values.size()));
      twin[static_cast<size_t>(v)] = node.outputs.back();
      graph.values.push_back(std::move(value));
    }
    graph.nodes.push_back(std::move(node));
  }

  void run() {
    find_narrow();
    if (std::none_of(narrow.begin(), narrow.end(), [](char c) { return c != 0; })) return;
    const size_t n_nodes = graph.nodes.size();
    twin.assign(graph.values.size(), kNoValue);
    for (size_t id = 0; id < n_nodes; ++id) {
      if (!narrow[id]) continue;
      const Node original = graph.nodes[id];
      copy_narrow(original);
      graph.nodes[id].dead = true;
    }
    Replacements replacements(graph);
    for (size_t id = 0; id < n_nodes; ++id) {
      Node& node = graph.nodes[id];
      if (node.dead || node.op != Op::outputs_only) continue;
      const ValueId moved = twin[static_cast<size_t>(node.inputs[0])];
      if (moved == kNoValue) continue;
      replacements.set(node.outputs[0], moved);
      node.dead = true;
    }
    replacements.apply_to_outputs(graph);
  }
};

}  // namespace

void last_rows(Graph& graph) { LastRows{graph, {}, {}}.run(); }

}  // namespace etch
