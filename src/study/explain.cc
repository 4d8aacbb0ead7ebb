#include "study/explain.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "graph/print.h"
#include "lowered/arguments.h"
#include "lowered/print.h"

namespace etch {
namespace {

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += fmt::format("{}{}", i ? ", " : "", shape[i]);
  return text + "]";
}

// The weight a node multiplies or looks up, if it has one.
const WeightSource* weight_input(const Graph& graph, const Node& node) {
  for (ValueId v : node.inputs) {
    if (const WeightSource* w = graph.weight_of(v)) return w;
  }
  return nullptr;
}

std::string tensor_name(const WeightSource& w) {
  return w.data.weight ? w.data.weight->name : "memory";
}

std::optional<NodeId> node_number(std::string_view text) {
  if (text.starts_with('n')) text.remove_prefix(1);
  NodeId id = -1;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (problem != std::errc{} || end != text.data() + text.size()) return {};
  return id;
}

// "q" of "q.17": names are made unique by numbers behind a point.
std::string_view wire_of(std::string_view name) { return name.substr(0, name.find('.')); }

bool is_meant(const Graph& graph, const Node& node, std::string_view what) {
  if (node.op == Op::weight) return false;
  if (const WeightSource* w = weight_input(graph, node); w && tensor_name(*w) == what) return true;
  return std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) {
    const std::string& name = graph.values[static_cast<size_t>(v)].name;
    return name == what || wire_of(name) == what;
  });
}

// A call belongs to the node it ends with, and to those of the weights it multiplies by ("a & b").
bool is_made_by(const Call& call, NodeId node, const std::string& tensor) {
  if (call.origin.node == node) return true;
  return !tensor.empty() && call.kernel->weight &&
         (" " + call.origin.tensor + " ").find(" " + tensor + " ") != std::string::npos;
}

Explanation explain_node(const Compiled& compiled, NodeId id) {
  const Graph& graph = *compiled.graph;
  const Lowered& lowered = *compiled.lowered;
  const Node& node = graph.nodes[static_cast<size_t>(id)];
  Explanation e;
  e.node = id;
  e.what = print_node(graph, node);
  if (node.origin.line > 0) e.location = fmt::format("{}:{}", node.origin.file, node.origin.line);
  std::string tensor;
  if (const WeightSource* w = weight_input(graph, node)) {
    tensor = tensor_name(*w);
    e.tensor =
        fmt::format("{} {} {}", tensor_name(*w), name(w->data.dtype), shape_text(w->data.shape));
  }
  for (const bool prefill : {false, true}) {
    const CallList& list = prefill ? lowered.prefill : lowered.decode;
    for (size_t i = 0; i < list.calls.size(); ++i) {
      if (!is_made_by(list.calls[i], id, tensor)) continue;
      e.calls.push_back({prefill, static_cast<int32_t>(i), list.calls[i].origin.node,
                         print_call(lowered, list.calls[i])});
    }
  }
  for (const Choice& c : lowered.choices) {
    const bool is_its = std::any_of(e.calls.begin(), e.calls.end(), [&](const ExplainedCall& call) {
      return call.prefill == c.prefill && call.node == c.node;
    });
    if (c.node == id || is_its) e.choices.push_back(c);
  }
  return e;
}

}  // namespace

Result<std::vector<Explanation>> explain(const Compiled& compiled, std::string_view what) {
  const Graph& graph = *compiled.graph;
  std::vector<Explanation> found;
  if (const auto id = node_number(what)) {
    if (*id < 0 || *id >= std::ssize(graph.nodes)) {
      return fail(ErrorKind::usage, "there is no node n{}; the graph has n0 to n{}", *id,
                  graph.nodes.size() - 1);
    }
    if (graph.nodes[static_cast<size_t>(*id)].dead) {
      return fail(
          ErrorKind::usage,
          "node n{} was removed by a pass; its value is not needed, or another node gives it", *id);
    }
    found.push_back(explain_node(compiled, *id));
    return found;
  }
  for (NodeId id = 0; id < std::ssize(graph.nodes); ++id) {
    const Node& node = graph.nodes[static_cast<size_t>(id)];
    if (!node.dead && is_meant(graph, node, what)) found.push_back(explain_node(compiled, id));
  }
  if (found.empty()) {
    return fail(ErrorKind::usage,
                "nothing in the graph is called '{}'\n  expected a node (n17), a tensor "
                "(blk.0.attn_q.weight) or a wire (q)",
                what);
  }
  return found;
}

std::vector<KernelLine> kernel_lines(const Compiled& compiled) {
  std::map<NodeId, KernelLine> by_node;
  for (const bool prefill : {false, true}) {
    const CallList& list = prefill ? compiled.lowered->prefill : compiled.lowered->decode;
    for (const Call& call : list.calls) {
      if (call.kernel->args != ArgsKind::matmul && call.kernel->args != ArgsKind::expert_matmul)
        continue;
      KernelLine& line = by_node[call.origin.node];
      line.node = call.origin.node;
      line.tensor = call.origin.tensor;
      if (call.kernel->weight) line.type = name(*call.kernel->weight);
      line.shape = shape_text({argument<int64_t>(call, "n_out"), argument<int64_t>(call, "n_in")});
      (prefill ? line.prefill : line.decode) = call.kernel->name;
    }
  }
  std::vector<KernelLine> lines;
  for (auto& [node, line] : by_node) lines.push_back(std::move(line));
  return lines;
}

}  // namespace etch
