#include "graph/build_graph.h"

#include <map>

#include "base/check.h"
#include "circuit/ast.h"
#include "circuit/walk.h"
#include "graph/builder.h"
#include "graph/infer.h"
#include "graph/language.h"

namespace etch {
namespace {

AttributeValue number_value(const Operand& operand) {
  if (operand.is_integer) return operand.length.constant();
  return operand.real;
}

// One matrix of a stack, or one row of a matrix: the same bytes, seen from further on.
PartData element_of(const PartData& whole, int64_t element) {
  PartData data = whole;
  data.shape.erase(data.shape.begin());
  if (data.shape.empty()) data.shape = {1};
  if (whole.offsets.size() > 1) {
    data.offsets = {whole.offsets[static_cast<size_t>(element)]};
  } else {
    const int64_t row = whole.shape.size() == 1 ? 1 : whole.shape.back();
    data.offsets[0] += element * row_bytes(whole.dtype, row);
  }
  return data;
}

// Scales of a stack, [n], as a table of n rows or as n lines, [n, 1].
PartData as_column(PartData data) {
  if (data.shape[0] > 1) data.shape.push_back(1);
  return data;
}

// Rows that lie one behind another need one offset, whoever listed them one by one.
PartData joined(PartData data) {
  if (data.shape.size() != 2) return data;
  const int64_t pitch = row_bytes(data.dtype, data.shape.back());
  for (size_t i = 1; i < data.offsets.size(); ++i)
    if (data.offsets[i] != data.offsets[i - 1] + pitch) return data;
  data.offsets.resize(1);
  return data;
}

class GraphSink : public FlowSink {
 public:
  GraphSink(const Binding& binding, std::string name)
      : binding_(binding), builder_(std::move(name)) {
    builder_.model(binding.model);
    for (const StateInfo& state : binding.states) builder_.state(state);
    for (const Rotary& rotary : binding.rotaries) builder_.rotary(rotary);
  }

  void input(const Operand& wire, std::string_view name) override {
    const bool real = wire.type.kind == Type::Kind::real;
    set(wire, builder_.input(std::string(name), Rows::tokens, numbers(wire.type.shape),
                             real ? Value::Kind::real : Value::Kind::ids));
  }

  Status apply(const Application& application) override {
    const Location at = application.at;
    builder_.origin({binding_.circuit->file, at.line, at.column, application.layer});
    std::vector<ValueId> made;
    if (const std::optional<ValueId> row = row_of_part(application)) {
      made = {*row};
    } else {
      made = ETCH_TRY(node(application));
    }
    ETCH_TRY(builder_.status());
    ETCH_CHECK(made.size() == application.results.size(), "{} gives {} values, the circuit {}",
               name(application.op), made.size(), application.results.size());
    for (size_t i = 0; i < made.size(); ++i) set(application.results[i], made[i]);
    return {};
  }

  void named(const Operand& wire, std::string_view name) override {
    builder_.name(value_of(wire), std::string(name));
  }

  void output(const Operand& wire, std::string_view name) override {
    ValueId v = value_of(wire);
    if (!builder_.failed() && builder_.value(v).rows == Rows::tokens)
      v = builder_.apply(Op::outputs_only, {v});
    builder_.output(std::string(name), v);
  }

  Result<Graph> finish() { return std::move(builder_).finish(); }

 private:
  void set(const Operand& wire, ValueId v) {
    const size_t id = static_cast<size_t>(wire.id);
    if (id >= of_wire_.size()) of_wire_.resize(id + 1, kNoValue);
    of_wire_[id] = v;
    if (v == kNoValue) return;
    const std::vector<int64_t> wanted = numbers(wire.type.shape);
    ETCH_CHECK(builder_.value(v).shape == wanted,
               "wire {} '{}' is {} in the graph, {} in the circuit", wire.id,
               builder_.value(v).name, print_shape(builder_.value(v).shape), print_shape(wanted));
  }

  ValueId value_of(const Operand& operand) {
    if (operand.is_wire()) return of_wire_[static_cast<size_t>(operand.id)];
    return weight(operand.id, operand.element);
  }

  const BoundPart& part(int id) const { return binding_.parts[static_cast<size_t>(id)]; }

  // Parts become weights when they are first used.
  using Key = std::pair<int, int64_t>;  // part and element
  ValueId weight(int id, int64_t element) {
    const BoundPart& p = part(id);
    return weight(weights_, {id, element}, p.data, name_of(p, element));
  }
  ValueId bias(const Operand& operand) {
    const BoundPart& p = part(operand.id);
    if (!p.bias) return kNoValue;
    return weight(biases_, {operand.id, operand.element}, *p.bias,
                  name_of(p, operand.element) + ".bias");
  }
  ValueId scale(const Operand& operand) {
    const BoundPart& p = part(operand.id);
    if (!p.scale) return kNoValue;
    const int64_t element = p.scale->shape[0] > 1 ? operand.element : -1;
    return weight(scales_, {operand.id, element}, element < 0 ? as_column(*p.scale) : *p.scale,
                  name_of(p, element) + ".scale");
  }
  ValueId weight(std::map<Key, ValueId>& known, Key key, const PartData& data,
                 const std::string& name) {
    const auto [at, first_use] = known.try_emplace(key, kNoValue);
    const int64_t element = key.second;
    if (first_use)
      at->second =
          builder_.weight(name, {.data = joined(element < 0 ? data : element_of(data, element))});
    return at->second;
  }
  static std::string name_of(const BoundPart& p, int64_t element) {
    const std::string layer = p.layer < 0 ? "" : fmt::format("[{}]", p.layer);
    const std::string one = element < 0 ? "" : fmt::format("[{}]", element);
    return p.name + layer + one;
  }

  // part[i]: its bytes are all there, no node is needed.
  std::optional<ValueId> row_of_part(const Application& application) {
    if (application.op != Op::index || !application.arguments[0].is_part()) return std::nullopt;
    const Operand& operand = application.arguments[0];
    if (operand.element >= 0 || part(operand.id).data.shape.size() < 2) return std::nullopt;
    return weight(operand.id, application.arguments[1].length.constant());
  }

  Result<std::vector<ValueId>> node(const Application& application) {
    const Op op = application.op;
    std::vector<ValueId> arguments;
    std::vector<Attribute> attributes;
    std::vector<NamedWire> wires;
    const std::span<const std::string_view> names = number_names(op);
    size_t next_name = 0;
    for (size_t i = 0; i < application.arguments.size(); ++i) {
      const Operand& operand = application.arguments[i];
      switch (operand.kind) {
        case Operand::Kind::wire:
        case Operand::Kind::part:
          if (operand.chosen && op != Op::linear_experts)
            return fail(ErrorKind::unsupported,
                        "{}:{}: '{}' of the chosen expert is wanted by linear alone",
                        binding_.circuit->file, application.at.line, operand.name);
          if (is_norm(op) && i > 0) {
            wires.push_back({"weight", value_of(operand)});
          } else {
            arguments.push_back(value_of(operand));
          }
          if (operand.is_part() && takes_bias(op) && !operand.has_scale)
            wires.push_back({"bias", bias(operand)});
          if (operand.chosen) attributes.push_back({"divisor", operand.divisor});
          break;
        case Operand::Kind::state:
          attributes.push_back({"state", StateRef{operand.id}});
          break;
        case Operand::Kind::rotary:
          attributes.push_back({"rotary", RotaryRef{operand.id}});
          break;
        default:
          if (op == Op::compress) {  // scores that are a number: a plain mean
            arguments.push_back(builder_.constant(
                std::vector<float>(static_cast<size_t>(builder_.value(arguments[0]).elements()),
                                   static_cast<float>(operand.real)),
                builder_.value(arguments[0]).shape));
          } else if (op == Op::zeros) {
            zeros_axis(attributes, operand);
          } else if (names.empty()) {
            attributes.push_back({i == 0 ? "left" : "right", number_value(operand)});
          } else {
            add_number(attributes, names[next_name++], operand);
          }
      }
    }
    for (const NamedOperand& a : application.attributes) {
      const std::string_view name = literal(op, a.name);
      if (a.value.is_wire() || a.value.is_part()) {
        wires.push_back({name, value_of(a.value)});
      } else {
        add_number(attributes, name, a.value);
      }
    }
    std::vector<ValueId> made =
        builder_.apply_all(op, std::move(arguments), std::move(attributes), wires);
    for (const Operand& operand : application.arguments)
      if (operand.has_scale && takes_bias(op) && !made.empty())
        made[0] = scaled(application, operand, made[0]);
    return made;
  }

  // The factor that a number format carries beside a weight stands between product and bias. Those
  // of chosen experts are rows of a table.
  ValueId scaled(const Application& application, const Operand& operand, ValueId y) {
    ValueId factor = scale(operand), added = bias(operand);
    if (application.op == Op::linear_experts) {
      const ValueId experts = value_of(application.arguments[1]);
      if (builder_.value(factor).shape.size() == 2) factor = builder_.embed(factor, experts);
      if (added != kNoValue) added = builder_.embed(added, experts);
    }
    y = builder_.mul(y, factor);
    return added == kNoValue ? y : builder_.add(y, added);
  }

  // Attributes outlive the walk: their names are those of the tables.
  static std::string_view literal(Op op, std::string_view name) {
    for (const AttributeInfo& a : info(op).attributes)
      if (a.name == name) return a.name;
    ETCH_CHECK(op == Op::mix && name == "plain", "{} has no attribute '{}'", etch::name(op), name);
    return "plain";
  }

  static bool takes_bias(Op op) {
    return is_norm(op) || op == Op::linear || op == Op::linear_experts || op == Op::conv1d;
  }

  static void zeros_axis(std::vector<Attribute>& attributes, const Operand& operand) {
    if (attributes.empty()) attributes.push_back({"shape", std::vector<int64_t>{}});
    std::get<std::vector<int64_t>>(attributes[0].value).push_back(operand.length.constant());
  }

  static void add_number(std::vector<Attribute>& attributes, std::string_view name,
                         const Operand& operand) {
    switch (operand.kind) {
      case Operand::Kind::number:
        attributes.push_back({name, number_value(operand)});
        break;
      case Operand::Kind::numbers:
        attributes.push_back({name, numbers(operand.numbers)});
        break;
      case Operand::Kind::truth:
        attributes.push_back({name, operand.truth});
        break;
      case Operand::Kind::symbol:
        attributes.push_back({name, operand.symbol});
        break;
      case Operand::Kind::state:
        attributes.push_back({name, StateRef{operand.id}});
        break;
      default:
        break;  // none: without
    }
  }

  const Binding& binding_;
  Builder builder_;
  std::vector<ValueId> of_wire_;
  std::map<Key, ValueId> weights_, biases_, scales_;
};

}  // namespace

Result<Graph> build_graph(const Binding& binding, std::string_view flow) {
  const Circuit& circuit = *binding.circuit;
  const std::string name =
      fmt::format("{} {}{}{}", circuit.name.text, circuit.revision, flow.empty() ? "" : " ", flow);
  GraphSink sink(binding, name);
  ETCH_TRY(walk_flow(binding, flow, sink));
  return sink.finish();
}

}  // namespace etch
