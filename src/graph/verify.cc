#include "graph/verify.h"

#include <algorithm>

#include "graph/infer.h"

namespace etch {
namespace {

// The attributes of Node's comment in graph.h that ops.def does not list.
struct OwnAttribute {
  Op op;
  std::string_view name;
};
constexpr OwnAttribute kOwn[] = {
    {Op::rmsnorm, "eps"},
    {Op::rmsnorm, "weight"},
    {Op::layernorm, "eps"},
    {Op::layernorm, "weight"},
    {Op::layernorm, "bias"},
    {Op::l2norm, "eps"},
    {Op::softcap, "cap"},
    {Op::clamp, "lo"},
    {Op::clamp, "hi"},
    {Op::rope, "rotary"},
    {Op::heads, "n"},
    {Op::split, "sizes"},
    {Op::index, "at"},
    {Op::slice, "first"},
    {Op::slice, "last"},
    {Op::repeat, "n"},
    {Op::repeat, "kind"},
    {Op::zeros, "shape"},
    {Op::reshape, "shape"},
    {Op::permute, "axes"},
    {Op::view, "starts"},
    {Op::view, "shape"},
    {Op::pool, "kind"},
    {Op::constant, "values"},
    {Op::constant, "shape"},
    {Op::input, "name"},
    {Op::weight, "source"},
    {Op::linear, "bias"},
    {Op::linear_experts, "bias"},
    {Op::linear_experts, "divisor"},
    {Op::mix, "plain"},
    {Op::attention, "state"},
    {Op::append, "state"},
    {Op::select, "state"},
    {Op::conv1d, "state"},
    {Op::conv1d, "bias"},
    {Op::shift, "state"},
    {Op::linear_attention, "state"},
    {Op::compress, "state"},
};

bool knows(Op op, std::string_view attribute) {
  const bool number_beside = attribute == "left" || attribute == "right";
  if (number_beside) return info(op).family == OpFamily::elementwise;
  for (const AttributeInfo& a : info(op).attributes)
    if (a.name == attribute) return true;
  return std::any_of(std::begin(kOwn), std::end(kOwn), [&](const OwnAttribute& own) {
    return own.op == op && own.name == attribute;
  });
}

template <class... Args>
tl::unexpected<Error> broken(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorKind::internal, format, std::forward<Args>(args)...);
}

template <class T>
bool inside(int64_t i, const std::vector<T>& list) {
  return i >= 0 && i < static_cast<int64_t>(list.size());
}

struct Verifier {
  const Graph& graph;
  std::vector<char> made;     // values that exist so far
  std::vector<char> written;  // states that a node has written

  Status attributes(NodeId id, const Node& node) const {
    for (const Attribute& a : node.attributes) {
      if (!knows(node.op, a.name)) return broken("n{} {} has '{}'", id, name(node.op), a.name);
      if (const auto* wire = std::get_if<WireRef>(&a.value);
          wire && !inside(wire->input, node.inputs))
        return broken("n{} '{}' is input {} of {}", id, a.name, wire->input, node.inputs.size());
      if (const auto* state = std::get_if<StateRef>(&a.value);
          state && !inside(state->state, graph.states))
        return broken("n{} '{}' is state {} of {}", id, a.name, state->state, graph.states.size());
      if (const auto* rotary = std::get_if<RotaryRef>(&a.value);
          rotary && !inside(rotary->rotary, graph.rotaries))
        return broken("n{} '{}' is rotary {} of {}", id, a.name, rotary->rotary,
                      graph.rotaries.size());
    }
    for (const AttributeInfo& a : info(node.op).attributes)
      if (a.needed && !node.find(a.name))
        return broken("n{} {} lacks '{}'", id, name(node.op), a.name);
    return {};
  }

  Status source(NodeId id, const Node& node) const {
    const bool one = node.inputs.empty() && node.outputs.size() == 1;
    if (!one) return broken("n{} {} makes one value from nothing", id, name(node.op));
    const Value& value = graph.value(node.outputs[0]);
    ETCH_TRY(check_shape(value.shape).context(value.name));
    if (node.op == Op::weight) {
      if (!inside(node.integer("source", -1), graph.weights))
        return broken("n{}: no such weight", id);
      const WeightSource& weight = *graph.weight_of(node.outputs[0]);
      if (weight.data.shape != value.shape || weight.data.dtype != value.dtype)
        return broken("n{}: the value of weight {} has another type", id, value.name);
      return verify_weight(weight,
                           graph.model ? static_cast<int64_t>(graph.model->bytes().size()) : 0);
    }
    if (node.op == Op::constant) {
      const auto* values = std::get_if<std::vector<float>>(node.find("values"));
      if (!values || static_cast<int64_t>(values->size()) != value.elements())
        return broken("n{}: a constant of another size", id);
    }
    return {};
  }

  Status outputs(NodeId id, const Node& node) {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId v = node.outputs[i];
      if (!inside(v, graph.values))
        return broken("n{} makes value {} of {}", id, v, graph.values.size());
      const Value& value = graph.value(v);
      if (value.node != id || value.output != static_cast<int>(i))
        return broken("{} says it comes from n{}.{}, not n{}.{}", value.name, value.node,
                      value.output, id, i);
      if (made[static_cast<size_t>(v)]++) return broken("{} is made twice", value.name);
    }
    const std::vector<Value> wanted = ETCH_TRY(infer(graph, node).context(fmt::format("n{}", id)));
    if (wanted.size() != node.outputs.size())
      return broken("n{} {} gives {} values, not {}", id, name(node.op), wanted.size(),
                    node.outputs.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      const Value& value = graph.value(node.outputs[i]);
      if (value.kind != wanted[i].kind || value.rows != wanted[i].rows ||
          value.block != wanted[i].block || value.shape != wanted[i].shape)
        return broken("{} is {} {}{}, n{} gives {} {}{}", value.name, name(value.kind),
                      name(value.rows), print_shape(value.shape), id, name(wanted[i].kind),
                      name(wanted[i].rows), print_shape(wanted[i].shape));
    }
    return {};
  }

  Status node(NodeId id) {
    const Node& node = graph.nodes[static_cast<size_t>(id)];
    if (node.dead) return {};
    for (const ValueId v : node.inputs)
      if (!inside(v, graph.values) || !made[static_cast<size_t>(v)])
        return broken("n{} {} uses value {} before it is made", id, name(node.op), v);
    ETCH_TRY(attributes(id, node));
    if (node.op == Op::input || node.op == Op::weight || node.op == Op::constant)
      ETCH_TRY(source(id, node));
    ETCH_TRY(outputs(id, node));
    if (node.writes_state() && written[static_cast<size_t>(node.state())]++)
      return broken("n{} writes {} again", id,
                    graph.states[static_cast<size_t>(node.state())].name);
    return {};
  }
};

}  // namespace

Status verify_weight(const WeightSource& weight, int64_t file_bytes) {
  const PartData& data = weight.data;
  if (data.shape.empty() || data.shape.size() > 3)
    return broken("a weight has one to three axes, not {}", print_shape(data.shape));
  ETCH_TRY(check_shape(data.shape));
  const DTypeInfo& type = info(data.dtype);
  if (!type.decode) return broken("weights of {} cannot be decoded", type.name);
  if (data.shape.back() % type.block_elements != 0)
    return broken("rows of {} are no whole {} blocks", data.shape.back(), type.name);
  if (weight.kind == WeightSource::Kind::memory)
    return weight.memory ? Status{} : broken("a weight in memory has no address");
  // One offset, or one for each first index: matrices of a stack, rows of its biases.
  const bool stack = data.shape.size() == 3;
  const int64_t first = data.shape.size() == 1 ? 1 : data.shape[0];
  const int64_t pieces = static_cast<int64_t>(data.offsets.size());
  if (pieces != first && (stack || pieces != 1))
    return broken("{} offsets for {}", pieces, print_shape(data.shape));
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < data.shape.size(); ++i) rows *= data.shape[i];
  const int64_t bytes = rows / pieces * row_bytes(data.dtype, data.shape.back());
  for (const int64_t offset : data.offsets)
    if (offset < 0 || offset > file_bytes || bytes > file_bytes - offset)
      return broken("bytes {} + {} of a weight lie outside the file of {}", offset, bytes,
                    file_bytes);
  return {};
}

Status verify(const Graph& graph) {
  Verifier verifier{graph, std::vector<char>(graph.values.size()),
                    std::vector<char>(graph.states.size())};
  for (size_t id = 0; id < graph.nodes.size(); ++id)
    ETCH_TRY(verifier.node(static_cast<NodeId>(id)).context(graph.name));
  for (const ValueId v : graph.inputs)
    if (!inside(v, graph.values) || graph.maker(v).op != Op::input)
      return broken("{}: value {} is listed as an input", graph.name, v);
  for (const GraphOutput& output : graph.outputs)
    if (!inside(output.value, graph.values) || !verifier.made[static_cast<size_t>(output.value)])
      return broken("{}: output '{}' is made by nobody", graph.name, output.name);
  return {};
}

}  // namespace etch
