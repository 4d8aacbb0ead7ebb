// The same numbers in another shape: byte strides change, nothing is copied unless a reshape cannot
// be told by strides.
#include <algorithm>

#include "lower/ops/ops.h"

namespace etch {
namespace {

// x in another shape by strides alone; false where that cannot be.
bool try_reshape(const Operand& x, const std::vector<int64_t>& shape, Operand& out) {
  // Runs of x's axes that are one axis in truth, outermost first.
  struct Run {
    int64_t size, stride;  // of its innermost elements
  };
  std::vector<Run> runs;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (x.shape[i] == 1) continue;
    if (!runs.empty() && runs.back().stride == x.strides[i] * x.shape[i])
      runs.back() = {runs.back().size * x.shape[i], x.strides[i]};
    else
      runs.push_back({x.shape[i], x.strides[i]});
  }
  // Every run must be cut into whole axes of the new shape, from the innermost outwards.
  out = x;
  out.shape = shape;
  out.strides.assign(shape.size(), 4);
  size_t run = runs.size();
  int64_t left = 1, stride = 4;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) {
      out.strides[i] = stride;
      continue;
    }
    if (left == 1) {
      if (run == 0) return false;
      --run;
      left = runs[run].size;
      stride = runs[run].stride;
    }
    if (left % shape[i] != 0) return false;
    out.strides[i] = stride;
    stride *= shape[i];
    left /= shape[i];
  }
  return left == 1 && run == 0;
}

Result<Operand> reshaped(Drafter& d, const Operand& x, const std::vector<int64_t>& shape) {
  Operand out;
  if (try_reshape(x, shape, out)) return out;
  const Operand tight = ETCH_TRY(d.copy(x));
  if (!try_reshape(tight, shape, out))
    return fail(ErrorKind::internal, "a tight value cannot be given another shape");
  return out;
}

// A weight keeps its type when rows or matrices of it are taken.
bool view_of_weight(Drafter& d, const Node& node) {
  const WeightView* w = d.weight(node.inputs[0]);
  if (w == nullptr || (node.op != Op::index && node.op != Op::slice)) return false;
  const bool one = node.op == Op::index;
  const int64_t first = node.integer(one ? "at" : "first");
  const int64_t last = one ? first + 1 : node.integer("last");
  WeightView view = *w;
  if (w->shape.size() == 3) {
    view.offsets.assign(w->offsets.begin() + first, w->offsets.begin() + last);
  } else if (w->shape.size() == 2) {
    view.offsets[0] += first * row_bytes(w->dtype, w->shape[1]);
  } else {
    return false;
  }
  view.shape[0] = last - first;
  if (one) view.shape.erase(view.shape.begin());
  d.define(node.outputs[0], view);
  return true;
}

Operand sub_range(Operand x, size_t axis, int64_t first, int64_t count) {
  x.place.offset += first * x.strides[axis];
  x.shape[axis] = count;
  return x;
}

}  // namespace

Status lower_view(Drafter& d, const Node& node) {
  if (view_of_weight(d, node)) return {};
  Operand x = ETCH_TRY(d.operand(node.inputs[0]));
  const ValueId y = node.outputs[0];
  switch (node.op) {
    case Op::split: {
      int64_t first = 0;
      for (const ValueId piece : node.outputs) {
        const int64_t size = d.value(piece).shape.back();
        d.define(piece, sub_range(x, x.shape.size() - 1, first, size));
        first += size;
      }
      return {};
    }
    case Op::index:
      x = sub_range(x, 0, node.integer("at"), 1);
      x.shape.erase(x.shape.begin());
      x.strides.erase(x.strides.begin());
      break;
    case Op::slice:
      x = sub_range(x, 0, node.integer("first"), node.integer("last") - node.integer("first"));
      break;
    case Op::transpose:
      std::swap(x.shape[0], x.shape[1]);
      std::swap(x.strides[0], x.strides[1]);
      break;
    case Op::permute: {
      const Operand from = x;
      const std::vector<int64_t> axes = node.integers("axes");
      for (size_t i = 0; i < axes.size(); ++i) {
        x.shape[i] = from.shape[static_cast<size_t>(axes[i])];
        x.strides[i] = from.strides[static_cast<size_t>(axes[i])];
      }
      break;
    }
    case Op::view: {
      const std::vector<int64_t> starts = node.integers("starts");
      for (size_t i = 0; i < starts.size(); ++i)
        x = sub_range(x, i, starts[i], d.value(y).shape[i]);
      break;
    }
    default:  // heads, merge, reshape
      x = ETCH_TRY(reshaped(d, x, d.value(y).shape));
  }
  d.define(y, std::move(x));
  return {};
}

}  // namespace etch
