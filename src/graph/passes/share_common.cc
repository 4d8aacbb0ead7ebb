// share_common: of nodes that compute the same from the same, one stays. Nodes with states are left
// alone: what they give depends on when they run.
#include <bit>
#include <string>
#include <unordered_map>

#include <fmt/format.h>

#include "graph/passes/passes.h"

namespace etch {
namespace {

struct KeyOf {
  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(bool truth) const { return truth ? "t" : "f"; }
  std::string operator()(int64_t whole) const { return fmt::format("i{}", whole); }
  std::string operator()(double real) const {
    return fmt::format("d{}", std::bit_cast<uint64_t>(real));
  }
  std::string operator()(Symbol symbol) const { return fmt::format("y{}", name(symbol)); }
  std::string operator()(WireRef wire) const { return fmt::format("w{}", wire.input); }
  std::string operator()(StateRef state) const { return fmt::format("s{}", state.state); }
  std::string operator()(RotaryRef rotary) const { return fmt::format("r{}", rotary.rotary); }
  std::string operator()(const std::vector<int64_t>& list) const {
    return fmt::format("[{}]", fmt::join(list, ","));
  }
  std::string operator()(const std::vector<float>& list) const {
    std::string key;
    for (const float x : list) key += fmt::format("{:x},", std::bit_cast<uint32_t>(x));
    return key;
  }
  std::string operator()(const std::string& text) const { return text; }
};

std::string key_of(const WeightSource& weight) {
  return fmt::format("weight {} {} {} {} {}", static_cast<int>(weight.kind),
                     name(weight.data.dtype), fmt::join(weight.data.shape, ","),
                     fmt::join(weight.data.offsets, ","),
                     reinterpret_cast<uintptr_t>(weight.memory));
}

std::string key_of(const Graph& graph, const Node& node) {
  if (node.op == Op::weight) return key_of(*graph.weight_of(node.outputs[0]));
  std::string key = fmt::format("{} {}", name(node.op), fmt::join(node.inputs, ","));
  for (const Attribute& a : node.attributes)
    key += fmt::format(" {}={}", a.name, std::visit(KeyOf{}, a.value));
  return key;
}

bool is_pure(const Node& node) {
  return node.op != Op::input && node.state() < 0 && !node.find("also");
}

}  // namespace

void share_common(Graph& graph) {
  Replacements replacements(graph);
  std::unordered_map<std::string, size_t> first;  // node of each key
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    Node& node = graph.nodes[id];
    if (node.dead) continue;
    replacements.apply(node);
    if (!is_pure(node)) continue;
    const auto [at, fresh] = first.try_emplace(key_of(graph, node), id);
    if (fresh) continue;
    const Node& earlier = graph.nodes[at->second];
    for (size_t i = 0; i < node.outputs.size(); ++i)
      replacements.set(node.outputs[i], earlier.outputs[i]);
    node.dead = true;
  }
  replacements.apply_to_outputs(graph);
}

}  // namespace etch
