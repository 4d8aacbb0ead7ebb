#include "graph/builder.h"

#include <utility>

#include "graph/infer.h"
#include "graph/verify.h"

namespace etch {

void Builder::fail_with(Error error) {
  if (status_.has_value()) status_ = tl::unexpected(std::move(error));
}

ValueId Builder::add_value(Value value) {
  graph_.values.push_back(std::move(value));
  return static_cast<ValueId>(graph_.values.size()) - 1;
}

ValueId Builder::source(Op op, std::vector<Attribute> attributes, Value value,
                        const std::string& name) {
  if (Status ok = check_shape(value.shape); !ok.has_value())
    fail_with(std::move(std::move(ok).context(name)).error());
  if (failed()) return kNoValue;
  value.node = static_cast<NodeId>(graph_.nodes.size());
  const ValueId v = add_value(std::move(value));
  graph_.nodes.push_back(
      {.op = op, .attributes = std::move(attributes), .outputs = {v}, .origin = origin_});
  this->name(v, name);
  return v;
}

ValueId Builder::input(std::string name, Rows rows, std::vector<int64_t> shape, Value::Kind kind) {
  const DType dtype = kind == Value::Kind::ids ? DType::i32 : DType::f32;
  const ValueId v =
      source(Op::input, {{"name", name}},
             {.kind = kind, .dtype = dtype, .rows = rows, .shape = std::move(shape)}, name);
  if (v != kNoValue) graph_.inputs.push_back(v);
  return v;
}

ValueId Builder::weight(std::string name, WeightSource source) {
  const int64_t file_bytes = graph_.model ? static_cast<int64_t>(graph_.model->bytes().size()) : 0;
  if (Status ok = verify_weight(source, file_bytes); !ok.has_value()) {
    ok.error().kind = ErrorKind::usage;
    fail_with(std::move(std::move(ok).context(name)).error());
    return kNoValue;
  }
  const bool integer = source.data.dtype == DType::i32;
  Value value{.kind = integer ? Value::Kind::ids : Value::Kind::real,
              .dtype = source.data.dtype,
              .rows = Rows::once,
              .shape = source.data.shape};
  graph_.weights.push_back(std::move(source));
  const int64_t index = static_cast<int64_t>(graph_.weights.size()) - 1;
  return this->source(Op::weight, {{"source", index}}, std::move(value), name);
}

ValueId Builder::weight(std::string name, DType dtype, std::vector<int64_t> shape,
                        const uint8_t* memory) {
  return weight(std::move(name), {.kind = WeightSource::Kind::memory,
                                  .data = {.dtype = dtype, .shape = std::move(shape)},
                                  .memory = memory});
}

ValueId Builder::constant(std::vector<float> values, std::vector<int64_t> shape) {
  return source(Op::constant, {{"values", std::move(values)}, {"shape", shape}},
                {.rows = Rows::once, .shape = shape}, "constant");
}

int Builder::state(StateInfo state) {
  graph_.states.push_back(std::move(state));
  return static_cast<int>(graph_.states.size()) - 1;
}

int Builder::rotary(Rotary rotary) {
  graph_.rotaries.push_back(std::move(rotary));
  return static_cast<int>(graph_.rotaries.size()) - 1;
}

std::vector<ValueId> Builder::apply_all(Op op, std::vector<ValueId> arguments,
                                        std::vector<Attribute> attributes,
                                        const std::vector<NamedWire>& wires) {
  if (failed()) return {};
  Node node{.op = op, .attributes = std::move(attributes), .origin = origin_};
  node.inputs = std::move(arguments);
  for (const NamedWire& wire : wires) {
    if (wire.value == kNoValue) continue;
    node.attributes.push_back({wire.name, WireRef{static_cast<int>(node.inputs.size())}});
    node.inputs.push_back(wire.value);
  }
  for (const ValueId v : node.inputs)
    if (!has(v)) {
      fail_with({ErrorKind::usage,
                 fmt::format("{}: an argument is no value of this graph", etch::name(op))});
      return {};
    }
  Result<std::vector<Value>> outputs = infer(graph_, node);
  if (!outputs.has_value()) {
    fail_with(std::move(outputs).error());
    return {};
  }
  const NodeId id = static_cast<NodeId>(graph_.nodes.size());
  for (Value& value : *outputs) {
    value.node = id;
    value.output = static_cast<int>(node.outputs.size());
    node.outputs.push_back(add_value(std::move(value)));
  }
  std::vector<ValueId> made = node.outputs;
  graph_.nodes.push_back(std::move(node));
  for (const ValueId v : made) name(v, std::string(etch::name(op)));
  return made;
}

ValueId Builder::apply(Op op, std::vector<ValueId> arguments, std::vector<Attribute> attributes,
                       const std::vector<NamedWire>& wires) {
  const std::vector<ValueId> made =
      apply_all(op, std::move(arguments), std::move(attributes), wires);
  return made.empty() ? kNoValue : made[0];
}

ValueId Builder::softcap(ValueId x, double cap) {
  return cap == 0 ? x : apply(Op::softcap, {x}, {{"cap", cap}});
}

ValueId Builder::rmsnorm(ValueId x, double eps, ValueId weight) {
  return apply(Op::rmsnorm, {x}, {{"eps", eps}}, {{"weight", weight}});
}

ValueId Builder::layernorm(ValueId x, double eps, ValueId weight, ValueId bias) {
  return apply(Op::layernorm, {x}, {{"eps", eps}}, {{"weight", weight}, {"bias", bias}});
}

ValueId Builder::linear(ValueId x, ValueId weight, ValueId bias) {
  return apply(Op::linear, {x, weight}, {}, {{"bias", bias}});
}

ValueId Builder::linear_experts(ValueId x, ValueId experts, ValueId stack, int64_t divisor,
                                ValueId bias) {
  return apply(Op::linear_experts, {x, experts, stack}, {{"divisor", divisor}}, {{"bias", bias}});
}

ValueId Builder::mix(ValueId y, ValueId experts, bool plain) {
  return apply(Op::mix, {y, experts}, {{"plain", plain}});
}

ValueId Builder::rope(ValueId x, int rotary, bool inverse) {
  return apply(Op::rope, {x}, {{"rotary", RotaryRef{rotary}}, {"inverse", inverse}});
}

ValueId Builder::slice(ValueId x, int64_t first, int64_t last) {
  return apply(Op::slice, {x}, {{"first", first}, {"last", last}});
}

std::vector<ValueId> Builder::split(ValueId x, std::vector<int64_t> sizes) {
  std::vector<ValueId> pieces = apply_all(Op::split, {x}, {{"sizes", sizes}});
  if (pieces.empty()) pieces.assign(sizes.size(), kNoValue);
  return pieces;
}

ValueId Builder::reshape(ValueId x, std::vector<int64_t> shape) {
  return apply(Op::reshape, {x}, {{"shape", std::move(shape)}});
}

ValueId Builder::permute(ValueId x, std::vector<int64_t> axes) {
  return apply(Op::permute, {x}, {{"axes", std::move(axes)}});
}

ValueId Builder::view(ValueId x, std::vector<int64_t> starts, std::vector<int64_t> shape) {
  return apply(Op::view, {x}, {{"starts", std::move(starts)}, {"shape", std::move(shape)}});
}

ValueId Builder::attention(ValueId q, ValueId k, ValueId v, int state, double scale,
                           std::vector<Attribute> attributes, const std::vector<NamedWire>& wires) {
  std::vector<ValueId> arguments = {q};
  if (k != kNoValue) arguments.push_back(k);
  if (v != kNoValue) arguments.push_back(v);
  attributes.push_back({"scale", scale});
  if (state >= 0) attributes.push_back({"state", StateRef{state}});
  return apply(Op::attention, std::move(arguments), std::move(attributes), wires);
}

void Builder::name(ValueId v, const std::string& name) {
  if (failed() || v == kNoValue) return;
  const int earlier = names_[name]++;
  graph_.values[static_cast<size_t>(v)].name =
      earlier == 0 ? name : fmt::format("{}.{}", name, earlier);
}

void Builder::output(std::string name, ValueId v) {
  if (failed()) return;
  if (!has(v)) return fail_with({ErrorKind::usage, fmt::format("output '{}' has no value", name)});
  if (graph_.find_output(name))
    return fail_with({ErrorKind::usage, fmt::format("output '{}' is given twice", name)});
  graph_.outputs.push_back({std::move(name), v});
}

Result<Graph> Builder::finish() && {
  if (failed()) return tl::unexpected(status_.error());
  return std::move(graph_);
}

}  // namespace etch
