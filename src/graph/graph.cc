#include "graph/graph.h"

namespace etch {
namespace {

template <class T>
const T* held(const Node& node, std::string_view name) {
  const AttributeValue* value = node.find(name);
  return value ? std::get_if<T>(value) : nullptr;
}

}  // namespace

std::string_view name(Rows rows) {
  constexpr std::string_view kNames[] = {"once", "tokens", "outputs", "sequences", "blocks"};
  return kNames[static_cast<size_t>(rows)];
}

std::string_view name(Value::Kind kind) {
  constexpr std::string_view kNames[] = {"real", "ids", "experts", "selection"};
  return kNames[static_cast<size_t>(kind)];
}

int64_t Value::elements() const {
  int64_t n = 1;
  for (const int64_t length : shape) n *= length;
  return n;
}

const AttributeValue* Node::find(std::string_view name) const {
  for (const Attribute& a : attributes)
    if (a.name == name) return &a.value;
  return nullptr;
}

double Node::number(std::string_view name, double otherwise) const {
  if (const double* real = held<double>(*this, name)) return *real;
  if (const int64_t* whole = held<int64_t>(*this, name)) return static_cast<double>(*whole);
  return otherwise;
}

int64_t Node::integer(std::string_view name, int64_t otherwise) const {
  const int64_t* whole = held<int64_t>(*this, name);
  return whole ? *whole : otherwise;
}

bool Node::truth(std::string_view name, bool otherwise) const {
  const bool* truth = held<bool>(*this, name);
  return truth ? *truth : otherwise;
}

Symbol Node::symbol(std::string_view name, Symbol otherwise) const {
  const Symbol* symbol = held<Symbol>(*this, name);
  return symbol ? *symbol : otherwise;
}

ValueId Node::wire(std::string_view name) const {
  const WireRef* ref = held<WireRef>(*this, name);
  return ref ? inputs[static_cast<size_t>(ref->input)] : kNoValue;
}

int Node::state() const {
  const StateRef* ref = held<StateRef>(*this, "state");
  return ref ? ref->state : -1;
}

int Node::rotary() const {
  const RotaryRef* ref = held<RotaryRef>(*this, "rotary");
  return ref ? ref->rotary : -1;
}

std::vector<int64_t> Node::integers(std::string_view name) const {
  const std::vector<int64_t>* list = held<std::vector<int64_t>>(*this, name);
  return list ? *list : std::vector<int64_t>{};
}

int Node::n_arguments() const {
  int named = 0;
  for (const Attribute& a : attributes) named += std::holds_alternative<WireRef>(a.value);
  return static_cast<int>(inputs.size()) - named;
}

bool Node::writes_state() const {
  return state() >= 0 && (op != Op::attention || n_arguments() > 1);
}

const WeightSource* Graph::weight_of(ValueId v) const {
  const Node& node = maker(v);
  if (node.op != Op::weight) return nullptr;
  return &weights[static_cast<size_t>(node.integer("source"))];
}

const GraphOutput* Graph::find_output(std::string_view name) const {
  for (const GraphOutput& output : outputs)
    if (output.name == name) return &output;
  return nullptr;
}

}  // namespace etch
