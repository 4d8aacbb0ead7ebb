// Values put together: every part is copied to its place.
#include "lower/ops/ops.h"

namespace etch {
namespace {

Operand sub_range(Operand x, size_t axis, int64_t first, int64_t count) {
  x.place.offset += first * x.strides[axis];
  x.shape[axis] = count;
  return x;
}

}  // namespace

Status lower_concat(Drafter& d, const Node& node) {
  const Operand y = d.make(node.outputs[0]);
  int64_t first = 0;
  for (const ValueId v : node.inputs) {
    const Operand part = ETCH_TRY(d.operand(v));
    const int64_t size = part.shape.back();
    ETCH_TRY(d.copy_to(part, sub_range(y, y.shape.size() - 1, first, size)));
    first += size;
  }
  return {};
}

Status lower_stack(Drafter& d, const Node& node) {
  const Operand y = d.make(node.outputs[0]);
  int64_t first = 0;
  for (const ValueId v : node.inputs) {
    Operand part = ETCH_TRY(d.operand(v));
    if (part.shape.size() == 1) {  // [d] counts as [1, d]
      part.shape.insert(part.shape.begin(), 1);
      part.strides.insert(part.strides.begin(), 0);
    }
    ETCH_TRY(d.copy_to(part, sub_range(y, 0, first, part.shape[0])));
    first += part.shape[0];
  }
  return {};
}

// One copy: the first axis of the result is two, the repetitions and the rows, in either order.
Status lower_repeat(Drafter& d, const Node& node) {
  const bool tile = node.symbol("kind", Symbol::tile) == Symbol::tile;
  Operand x = ETCH_TRY(d.operand(node.inputs[0]));
  if (x.shape.size() == 1) {
    x.shape.insert(x.shape.begin(), 1);
    x.strides.insert(x.strides.begin(), 0);
  }
  const int64_t n = node.integer("n"), m = x.shape[0];
  if (m == 1) {  // every row is the same one
    x.shape[0] = n;
    x.strides[0] = 0;
    d.define(node.outputs[0], x);
    return {};
  }
  Operand y = d.make(node.outputs[0]);
  const int64_t step = y.strides[0];
  y.shape[0] = m;
  y.strides[0] = tile ? step : n * step;
  y.shape.insert(y.shape.begin() + (tile ? 0 : 1), n);
  y.strides.insert(y.strides.begin() + (tile ? 0 : 1), tile ? m * step : step);
  x.shape.insert(x.shape.begin() + (tile ? 0 : 1), n);
  x.strides.insert(x.strides.begin() + (tile ? 0 : 1), 0);
  return d.copy_to(x, y);
}

// One zero in the constants, seen in any shape.
Status lower_zeros(Drafter& d, const Node& node) {
  const float zero = 0;
  const std::vector<int64_t>& shape = d.value(node.outputs[0]).shape;
  d.define(node.outputs[0], {d.constants.add_numbers<float>({&zero, 1}), Rows::once, 0, shape,
                             std::vector<int64_t>(shape.size(), 0)});
  return {};
}

}  // namespace etch
