// Nodes as circuits would write them.
#include "graph/infer_case.h"
#include "graph/language.h"

namespace etch {
namespace {

Shape polynomials(const Lengths& lengths) { return Shape(lengths.begin(), lengths.end()); }

bool is_positions(const Graph& graph, ValueId v) {
  const Node& maker = graph.maker(v);
  const AttributeValue* name = maker.find("name");
  return maker.op == Op::input && name && *name == AttributeValue("positions");
}

Operand operand_of(const Graph& graph, ValueId v) {
  constexpr Type::Kind kKinds[] = {Type::Kind::real, Type::Kind::ids, Type::Kind::experts,
                                   Type::Kind::selection};
  const Value& value = graph.value(v);
  Operand operand;
  operand.kind = graph.weight_of(v) ? Operand::Kind::part : Operand::Kind::wire;
  operand.name = value.name;
  operand.id = v;
  operand.type.kind = kKinds[static_cast<size_t>(value.kind)];
  if (is_positions(graph, v)) operand.type.kind = Type::Kind::positions;
  operand.type.shape = polynomials(value.shape);
  return operand;
}

Operand operand_of(const StateInfo& state) {
  Operand operand;
  operand.kind = Operand::Kind::state;
  operand.name = state.name;
  operand.state = {static_cast<StateType::Kind>(state.kind), state.n, state.d_k, state.d_v,
                   state.block};
  return operand;
}

Operand operand_of(const InferCase& c, const AttributeValue& value) {
  Operand operand;
  if (const auto* whole = std::get_if<int64_t>(&value)) {
    operand.kind = Operand::Kind::number;
    operand.is_integer = true;
    operand.length = *whole;
    operand.real = static_cast<double>(*whole);
  } else if (const auto* real = std::get_if<double>(&value)) {
    operand.kind = Operand::Kind::number;
    operand.real = *real;
  } else if (const auto* truth = std::get_if<bool>(&value)) {
    operand.kind = Operand::Kind::truth;
    operand.truth = *truth;
  } else if (const auto* symbol = std::get_if<Symbol>(&value)) {
    operand.kind = *symbol == Symbol::none ? Operand::Kind::none : Operand::Kind::symbol;
    operand.symbol = *symbol;
  } else if (const auto* list = std::get_if<Lengths>(&value)) {
    operand.kind = Operand::Kind::numbers;
    operand.numbers = polynomials(*list);
  } else if (const auto* wire = std::get_if<WireRef>(&value)) {
    return operand_of(c.graph, c.node.inputs[static_cast<size_t>(wire->input)]);
  } else if (const auto* state = std::get_if<StateRef>(&value)) {
    return operand_of(c.graph.states[static_cast<size_t>(state->state)]);
  }
  return operand;
}

}  // namespace

Written written(const InferCase& c) {
  const Node& node = c.node;
  Written w;
  const auto add = [&](std::string_view attribute) {
    const AttributeValue* value = node.find(attribute);
    w.arguments.push_back(value ? operand_of(c, *value) : Operand{});
  };
  if (node.op == Op::append) w.arguments.push_back(operand_of(*c.state()));
  if (node.find("left")) add("left");
  const int n_wires = node.op == Op::mix ? 1 : node.n_arguments();  // of mix: without the experts
  for (int i = 0; i < n_wires; ++i)
    w.arguments.push_back(operand_of(c.graph, node.inputs[static_cast<size_t>(i)]));
  // Rows of a table by chosen expert: the language has no word for it.
  if (node.op == Op::embed && w.arguments[1].type.kind == Type::Kind::experts)
    w.arguments[1].type.kind = Type::Kind::ids;
  if (is_norm(node.op) && node.find("weight")) add("weight");
  if (node.find("right")) add("right");
  for (const std::string_view name : number_names(node.op)) add(name);
  if (node.op == Op::zeros)
    for (const int64_t length : node.integers("shape"))
      w.arguments.push_back(operand_of(c, length));
  if (node.rotary() >= 0) {
    const Rotary& rotary = c.graph.rotaries[static_cast<size_t>(node.rotary())];
    Operand operand;
    operand.kind = Operand::Kind::rotary;
    operand.name = rotary.name;
    operand.rotary_dims = rotary.dims;
    w.arguments.push_back(operand);
  }
  if (c.state() && node.op != Op::append) w.arguments.push_back(operand_of(*c.state()));
  for (const AttributeInfo& a : info(node.op).attributes)
    if (const AttributeValue* value = node.find(a.name))
      w.attributes.push_back({a.name, operand_of(c, *value)});
  return w;
}

}  // namespace etch
