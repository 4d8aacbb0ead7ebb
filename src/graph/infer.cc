#include "graph/infer.h"

#include <algorithm>

#include "graph/infer_case.h"
#include "graph/language.h"

namespace etch {
namespace {

// Far beyond any machine's memory, and far from the overflow of a byte count.
constexpr int64_t kMostElements = int64_t{1} << 46;

bool ends_with(const Lengths& x, const Lengths& tail) {
  return tail.size() <= x.size() && std::equal(tail.rbegin(), tail.rend(), x.rbegin());
}

struct RowsOfValue {
  Rows rows = Rows::once;
  int64_t block = 0;
};

Result<RowsOfValue> rows_of_inputs(const InferCase& c) {
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

Result<std::vector<Type>> by_rule(const InferCase& c, bool drop_first_axis) {
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

// Weights and biases that stand beside an operation, and forms that a circuit cannot write.
Status check_beside(const InferCase& c, const std::vector<Value>& outputs) {
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
  const int64_t elements = elements_of(shape);
  if (elements < 1 || elements > kMostElements)
    return fail(ErrorKind::usage, "the shape {} is empty or too large", print_shape(shape));
  return {};
}

Result<std::vector<Value>> infer(const Graph& graph, const Node& node) {
  const InferCase c{graph, node};
  std::vector<Value> outputs;
  if (is_source(node.op)) {
    for (const ValueId v : node.outputs) outputs.push_back(graph.value(v));
    return outputs;
  }
  const RowsOfValue in = ETCH_TRY(rows_of_inputs(c));
  if (c.state() && in.rows == Rows::once) return c.no("a state needs tokens");
  Value value{.rows = in.rows, .block = in.block};
  if (info(node.op).family == OpFamily::graph) {
    outputs.push_back(ETCH_TRY(infer_graph_op(c, value)));
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
