// Shapes of the operations that only graphs have.
#include "graph/infer.h"
#include "graph/infer_case.h"

namespace etch {
namespace {

Result<Lengths> linear_experts(const InferCase& c) {
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

Result<Lengths> reshape(const InferCase& c) {
  const Lengths shape = c.node.integers("shape");
  if (elements_of(shape) != elements_of(c.shape(0)))
    return c.no("{} has not as many elements as {}", print_shape(c.shape(0)), print_shape(shape));
  return shape;
}

Result<Lengths> permute(const InferCase& c) {
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

Result<Lengths> view(const InferCase& c) {
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

}  // namespace

// Elements of a shape; -1 where it is no shape of anything.
int64_t elements_of(const Lengths& shape) {
  int64_t elements = 1;
  for (const int64_t length : shape)
    if (length < 1 || __builtin_mul_overflow(elements, length, &elements)) return -1;
  return elements;
}

Result<Value> infer_graph_op(const InferCase& c, Value value) {
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
      value.shape = {elements_of(c.shape(0)), 1};
      return value;
    default:  // outputs_only
      value.shape = c.shape(0);
      if (value.rows == Rows::tokens) value.rows = Rows::outputs;
  }
  if (c.node.op != Op::linear_experts) value.kind = c.in(0).kind;
  return value;
}

}  // namespace etch
