#include "graph/print.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "graph/infer.h"

namespace etch {
namespace {

using nlohmann::ordered_json;

template <class... Ts>
struct Cases : Ts... {
  using Ts::operator()...;
};

std::string text_of(const Graph& graph, const Node& node, const AttributeValue& value) {
  return std::visit(
      Cases{
          [](std::monostate) { return std::string("none"); },
          [](bool truth) { return std::string(truth ? "true" : "false"); },
          [](int64_t whole) { return fmt::format("{}", whole); },
          [](double real) { return fmt::format("{}", real); },
          [](Symbol symbol) { return std::string(name(symbol)); },
          [&](WireRef wire) {
            return graph.value(node.inputs[static_cast<size_t>(wire.input)]).name;
          },
          [&](StateRef state) { return graph.states[static_cast<size_t>(state.state)].name; },
          [&](RotaryRef rotary) { return graph.rotaries[static_cast<size_t>(rotary.rotary)].name; },
          [](const std::vector<int64_t>& list) { return print_shape(list); },
          [](const std::vector<float>& list) {
            constexpr size_t kShown = 4;
            const auto last = list.begin() + static_cast<int64_t>(std::min(list.size(), kShown));
            return fmt::format("[{}{}]", fmt::join(list.begin(), last, ", "),
                               list.size() > kShown ? ", ..." : "");
          },
          [](const std::string& text) { return fmt::format("\"{}\"", text); }},
      value);
}

ordered_json json_of(const AttributeValue& value) {
  return std::visit(Cases{[](std::monostate) { return ordered_json(nullptr); },
                          [](Symbol symbol) { return ordered_json(name(symbol)); },
                          [](WireRef wire) {
                            return ordered_json{{"input", wire.input}};
                          },
                          [](StateRef state) {
                            return ordered_json{{"state", state.state}};
                          },
                          [](RotaryRef rotary) {
                            return ordered_json{{"rotary", rotary.rotary}};
                          },
                          [](const auto& plain) { return ordered_json(plain); }},
                    value);
}

std::string weight_text(const WeightSource& weight) {
  if (weight.kind == WeightSource::Kind::memory)
    return fmt::format("{} memory", name(weight.data.dtype));
  const std::string where = weight.data.offsets.size() == 1
                                ? fmt::format("at {}", weight.data.offsets[0])
                                : fmt::format("in {} pieces", weight.data.offsets.size());
  return fmt::format("{} {} {}", name(weight.data.dtype),
                     weight.data.weight ? weight.data.weight->name : "", where);
}

std::string arguments_text(const Graph& graph, const Node& node) {
  if (node.op == Op::weight) return weight_text(*graph.weight_of(node.outputs[0]));
  std::vector<std::string> words;
  const auto attribute = [&](std::string_view name) {
    return text_of(graph, node, *node.find(name));
  };
  if (node.find("left")) words.push_back(attribute("left"));
  for (int i = 0; i < node.n_arguments(); ++i)
    words.push_back(graph.value(node.inputs[static_cast<size_t>(i)]).name);
  if (node.find("right")) words.push_back(attribute("right"));
  for (const Attribute& a : node.attributes)
    if (a.name != "left" && a.name != "right")
      words.push_back(fmt::format("{}: {}", a.name, attribute(a.name)));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string names_of(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<std::string_view> names;
  for (const ValueId v : values) names.push_back(graph.value(v).name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string type_text(const Value& value) {
  const std::string kind =
      value.kind == Value::Kind::real ? "" : fmt::format(" {}", name(value.kind));
  return fmt::format("{}{} {}", name(value.rows), kind, print_shape(value.shape));
}

std::string origin_text(const Origin& origin) {
  if (origin.file.empty()) return "";
  const std::string layer = origin.layer < 0 ? "" : fmt::format("layer {}, ", origin.layer);
  return fmt::format("  # {}{}:{}", layer, origin.file, origin.line);
}

std::string state_text(const StateInfo& s) {
  constexpr std::string_view kKinds[] = {"cache", "latents", "index", "last", "matrix"};
  return fmt::format("{}({}, {}, {})", kKinds[static_cast<size_t>(s.kind)], s.n, s.d_k, s.d_v);
}

ordered_json value_json(const Value& value, ValueId id) {
  ordered_json json = {{"id", id},
                       {"name", value.name},
                       {"kind", name(value.kind)},
                       {"dtype", name(value.dtype)},
                       {"rows", name(value.rows)},
                       {"shape", value.shape},
                       {"node", value.node}};
  if (value.rows == Rows::blocks) json["block"] = value.block;
  return json;
}

ordered_json node_json(const Graph& graph, const Node& node, NodeId id) {
  ordered_json json = {
      {"id", id}, {"op", name(node.op)}, {"inputs", node.inputs}, {"outputs", node.outputs}};
  ordered_json attributes = ordered_json::object();
  for (const Attribute& a : node.attributes) attributes[std::string(a.name)] = json_of(a.value);
  if (!attributes.empty()) json["attributes"] = attributes;
  if (node.op == Op::weight) {
    const PartData& data = graph.weight_of(node.outputs[0])->data;
    if (data.weight) json["tensor"] = data.weight->name;
    json["offsets"] = data.offsets;
  }
  if (!node.origin.file.empty())
    json["origin"] = {{"file", node.origin.file},
                      {"line", node.origin.line},
                      {"column", node.origin.column},
                      {"layer", node.origin.layer}};
  return json;
}

}  // namespace

std::string print_node(const Graph& graph, const Node& node) {
  const std::string made = node.outputs.empty() ? "" : names_of(graph, node.outputs) + " = ";
  return fmt::format("{}{}({})", made, name(node.op), arguments_text(graph, node));
}

std::string print(const Graph& graph) {
  std::string text = fmt::format("graph {}\n", graph.name);
  for (const StateInfo& state : graph.states)
    text += fmt::format("state {} = {}\n", state.name, state_text(state));
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (node.dead) continue;
    const std::string type = node.outputs.empty() ? "" : type_text(graph.value(node.outputs[0]));
    text += fmt::format("n{:<4} {:<16} {:<22} = {}({}){}\n", id, names_of(graph, node.outputs),
                        type, name(node.op), arguments_text(graph, node), origin_text(node.origin));
  }
  for (const GraphOutput& output : graph.outputs)
    text += fmt::format("output {} = {}\n", output.name, graph.value(output.value).name);
  return text;
}

std::string print_json(const Graph& graph) {
  ordered_json json = {{"schema", "etch.graph/1"}, {"name", graph.name}};
  json["inputs"] = graph.inputs;
  json["outputs"] = ordered_json::object();
  for (const GraphOutput& output : graph.outputs) json["outputs"][output.name] = output.value;
  json["states"] = ordered_json::array();
  for (const StateInfo& s : graph.states)
    json["states"].push_back({{"name", s.name}, {"type", state_text(s)}, {"layer", s.layer}});
  json["rotaries"] = ordered_json::array();
  for (const Rotary& r : graph.rotaries)
    json["rotaries"].push_back({{"name", r.name}, {"layout", name(r.layout)}, {"dims", r.dims}});
  json["nodes"] = ordered_json::array();
  json["values"] = ordered_json::array();
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (node.dead) continue;
    json["nodes"].push_back(node_json(graph, node, static_cast<NodeId>(id)));
    for (const ValueId v : node.outputs) json["values"].push_back(value_json(graph.value(v), v));
  }
  // Names of hand-made graphs may be any bytes.
  return json.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace etch
