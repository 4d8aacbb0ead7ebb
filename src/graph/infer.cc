#include "graph/infer.h"

#include <algorithm>

#include "graph/language.h"
#include "ops/shape_rule.h"

namespace etch {
namespace {

using Lengths = std::vector<int64_t>;

// Far beyond any machine's memory, and far from the overflow of a byte count.
constexpr int64_t kMostElements = int64_t{1} << 46;

// Elements of a shape; -1 where it is no shape of anything.
int64_t product(const Lengths& shape) {
  int64_t elements = 1;
  for (const int64_t length : shape)
    if (length < 1 || __builtin_mul_overflow(elements, length, &elements)) return -1;
  return elements;
}

bool ends_with(const Lengths& x, const Lengths& tail) {
  return tail.size() <= x.size() && std::equal(tail.rbegin(), tail.rend(), x.rbegin());
}

// What an inference sees: the node, its inputs, and a way to say no.
struct Case {
  const Graph& graph;
  const Node& node;

  const Value& in(int i) const { return graph.value(node.inputs[static_cast<size_t>(i)]); }
  const Lengths& shape(int i) const { return in(i).shape; }
  const StateInfo* state() const {
    return node.state() < 0 ? nullptr : &graph.states[static_cast<size_t>(node.state())];
  }
  const Value* named(std::string_view name) const {
    const ValueId v = node.wire(name);
    return v == kNoValue ? nullptr : &graph.value(v);
  }

  template <class... Args>
  tl::unexpected<Error> no(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorKind::usage, "{}: {}", name(node.op),
                fmt::format(format, std::forward<Args>(args)...));
  }
};

// ---- rows: once gives way to anything; two other kinds do not mix.

struct RowsOfValue {
  Rows rows = Rows::once;
  int64_t block = 0;
};

Result<RowsOfValue> rows_of_inputs(const Case& c) {
  RowsOfValue result;
  if (c.node.op == Op::select)
    return RowsOfValue{c.in(0).rows, c.in(0).block};  // keys: also blocks
  for (const ValueId v : c.node.inputs) {
    const Value& value = c.graph.value(v);
    if (value.rows == Rows::once) continue;
    if (result.rows == Rows::once) {
      result = {value.rows, value.block};
    } else if (result.rows != value.rows || result.block != value.block) {
      return c.no("its arguments have different rows: {} and {}", name(result.rows),
                  name(value.rows));
    }
  }
  return result;
}

// ---- the language's rules (ops/), asked about a node's numbers

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

Operand operand_of(const Case& c, const AttributeValue& value) {
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

// A node as a circuit would write it.
struct Written {
  std::vector<Operand> arguments;
  std::vector<NamedOperand> attributes;
};

Written written(const Case& c) {
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

Result<std::vector<Type>> by_rule(const Case& c, bool drop_first_axis) {
  const OpInfo& op = info(c.node.op);
  Written w = written(c);
  const int n = static_cast<int>(w.arguments.size());
  if (n < op.fewest || n > op.most)
    return c.no("{} arguments; {} to {} are wanted", n, op.fewest, op.most);
  if (drop_first_axis)
    for (Operand& operand : w.arguments)
      if (operand.type.shape.size() == 3) operand.type.shape.erase(operand.type.shape.begin());
  Proof proof;
  const int n_results = static_cast<int>(c.node.integers("sizes").size());
  ShapeCheck check(c.node.op, w.arguments, w.attributes, std::max(n_results, 1), proof);
  infer_shapes(check);
  for (const ShapeFinding& finding : check.findings)
    if (finding.answer == Answer::refuted) return fail(ErrorKind::usage, "{}", finding.message);
  return std::move(check.results);
}

// ---- what the rules leave to graphs

Result<Lengths> linear_experts(const Case& c) {
  const Lengths &x = c.shape(0), &w = c.shape(2);
  if (c.in(1).kind != Value::Kind::experts || w.size() != 3 || x.empty())
    return c.no("(x, experts, stack) are wanted, the stack is {}", print_shape(w));
  const int64_t top = c.shape(1)[0];
  if (x.back() != w.back() || (x.size() > 1 && x[0] != top))
    return c.no("{} experts with matrices {} meet {}", top, print_shape(w), print_shape(x));
  if (c.node.integer("divisor", 1) < 1) return c.no("the divisor must be positive");
  if (x.size() == 1) return Lengths{top, w[1]};
  Lengths y = x;
  y.back() = w[1];
  return y;
}

Result<Lengths> reshape(const Case& c) {
  const Lengths shape = c.node.integers("shape");
  if (product(shape) != product(c.shape(0)))
    return c.no("{} has not as many elements as {}", print_shape(c.shape(0)), print_shape(shape));
  return shape;
}

Result<Lengths> permute(const Case& c) {
  const Lengths axes = c.node.integers("axes"), &x = c.shape(0);
  Lengths y, seen(x.size(), 0);
  for (const int64_t axis : axes) {
    if (axis < 0 || axis >= static_cast<int64_t>(x.size()) || seen[static_cast<size_t>(axis)]++)
      return c.no("the axes {} are no order of {}", print_shape(axes), print_shape(x));
    y.push_back(x[static_cast<size_t>(axis)]);
  }
  if (y.size() != x.size()) return c.no("every axis of {} must be named once", print_shape(x));
  return y;
}

Result<Lengths> view(const Case& c) {
  const Lengths starts = c.node.integers("starts"), shape = c.node.integers("shape");
  const Lengths& x = c.shape(0);
  if (starts.size() != x.size() || shape.size() != x.size())
    return c.no("a start and a length for each axis of {} are wanted", print_shape(x));
  for (size_t i = 0; i < x.size(); ++i)
    if (starts[i] < 0 || shape[i] < 1 || starts[i] > x[i] || shape[i] > x[i] - starts[i])
      return c.no("{} from {} does not lie inside {}", print_shape(shape), print_shape(starts),
                  print_shape(x));
  return shape;
}

// Operations that circuits do not spell.
Result<Value> by_graph(const Case& c, Value value) {
  switch (c.node.op) {
    case Op::linear_experts:
      value.shape = ETCH_TRY(linear_experts(c));
      break;
    case Op::reshape:
      value.shape = ETCH_TRY(reshape(c));
      break;
    case Op::permute:
      value.shape = ETCH_TRY(permute(c));
      break;
    case Op::view:
      value.shape = ETCH_TRY(view(c));
      break;
    case Op::expert_weights:
      value.shape = {product(c.shape(0)), 1};
      return value;
    default:  // outputs_only
      value.shape = c.shape(0);
      if (value.rows == Rows::tokens) value.rows = Rows::outputs;
  }
  if (c.node.op != Op::linear_experts) value.kind = c.in(0).kind;
  return value;
}

// Weights and biases that stand beside an operation, and forms that a circuit cannot write.
Status check_beside(const Case& c, const std::vector<Value>& outputs) {
  for (const char* name : {"weight", "bias"}) {
    const Value* beside = c.node.op == Op::route ? nullptr : c.named(name);
    if (!beside) continue;
    Lengths wanted = outputs[0].shape;
    if (c.node.op == Op::linear_experts) wanted = {c.shape(2)[0], c.shape(2)[1]};
    if (!ends_with(wanted, beside->shape))
      return c.no("the {} {} does not fit {}", name, print_shape(beside->shape),
                  print_shape(wanted));
  }
  if (c.node.op == Op::mix && c.in(1).kind != Value::Kind::experts)
    return c.no("the second argument must be experts");
  if (c.node.op == Op::mix && c.shape(0)[0] != c.shape(1)[0])
    return c.no("{} by {} experts", print_shape(c.shape(0)), c.shape(1)[0]);
  if (c.node.op == Op::attention && !c.state() && c.shape(1)[0] != c.shape(2)[0])
    return c.no("keys {} and values {}", print_shape(c.shape(1)), print_shape(c.shape(2)));
  // The state of compress holds x and s of the last tokens, side by side.
  if (c.node.op == Op::compress) {
    const int64_t width = c.shape(0)[0], block = c.node.integer("block");
    const int64_t n = (c.node.truth("overlap") ? 2 : 1) * block;
    if (block < 1 || c.state()->n < n - 1 || c.state()->d_k != 2 * width)
      return c.no("{} must be last({}, {})", c.state()->name, n, 2 * width);
  }
  return {};
}

Value::Kind kind_of(Type::Kind kind) {
  switch (kind) {
    case Type::Kind::ids:
    case Type::Kind::positions:
      return Value::Kind::ids;
    case Type::Kind::experts:
      return Value::Kind::experts;
    case Type::Kind::selection:
      return Value::Kind::selection;
    case Type::Kind::real:
      break;
  }
  return Value::Kind::real;
}

bool is_source(Op op) { return op == Op::input || op == Op::weight || op == Op::constant; }

}  // namespace

Status check_shape(const std::vector<int64_t>& shape) {
  if (shape.size() > kMostAxes)
    return fail(ErrorKind::usage, "the shape {} has more than {} axes", print_shape(shape),
                kMostAxes);
  const int64_t elements = product(shape);
  if (elements < 1 || elements > kMostElements)
    return fail(ErrorKind::usage, "the shape {} is empty or too large", print_shape(shape));
  return {};
}

Result<std::vector<Value>> infer(const Graph& graph, const Node& node) {
  const Case c{graph, node};
  std::vector<Value> outputs;
  if (is_source(node.op)) {
    for (const ValueId v : node.outputs) outputs.push_back(graph.value(v));
    return outputs;
  }
  const RowsOfValue in = ETCH_TRY(rows_of_inputs(c));
  if (c.state() && in.rows == Rows::once) return c.no("a state needs tokens");
  Value value{.rows = in.rows, .block = in.block};
  if (info(node.op).family == OpFamily::graph) {
    outputs.push_back(ETCH_TRY(by_graph(c, value)));
  } else {
    const bool tokens_first = node.op == Op::attention && in.rows == Rows::once;
    for (const Type& type : ETCH_TRY(by_rule(c, tokens_first))) {
      value.kind = kind_of(type.kind);
      value.shape = numbers(type.shape);
      if (type.row == Type::Row::sequence) value.rows = Rows::sequences;
      if (type.row == Type::Row::block) {
        value.rows = Rows::blocks;
        value.block = node.integer("block");
      }
      if (tokens_first) value.shape.insert(value.shape.begin(), c.shape(0)[0]);
      // Without weights every query head chooses for itself.
      if (node.op == Op::select && !c.named("weights")) value.shape = {c.shape(0)[0]};
      outputs.push_back(value);
    }
  }
  ETCH_TRY(check_beside(c, outputs));
  for (Value& output : outputs) {
    if (output.kind == Value::Kind::ids) output.dtype = DType::i32;
    ETCH_TRY(check_shape(output.shape).context(name(node.op)));
  }
  return outputs;
}

}  // namespace etch
