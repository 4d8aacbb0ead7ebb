// Operations that move numbers and compute none: views, repeat, concat, stack, split, zeros, and
// the rows that want outputs.
#include <algorithm>
#include <numeric>

#include "graph/ops/operations.h"

namespace etch::plain {
namespace {

using Shape = std::vector<int64_t>;

// Places of the elements of a result of `shape` whose axes step through the source by `strides`,
// from `start` on.
std::vector<int64_t> places(int64_t start, const Shape& shape, const Shape& strides) {
  std::vector<int64_t> places = {start};
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const std::vector<int64_t> outer = places;
    places.clear();
    for (const int64_t place : outer)
      for (int64_t i = 0; i < shape[axis]; ++i) places.push_back(place + i * strides[axis]);
  }
  return places;
}

Shape strides_of(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

// The same elements in the same order, from `start` on.
std::vector<int64_t> in_order(int64_t start, int64_t count) {
  std::vector<int64_t> places(static_cast<size_t>(count));
  std::iota(places.begin(), places.end(), start);
  return places;
}

// repeat: row i of the result is row i mod m (tile) or i / n (interleave).
std::vector<int64_t> repeated(const Node& node, const Shape& x) {
  const int64_t m = x.size() == 1 ? 1 : x[0], n = node.integer("n");
  const int64_t row =
      std::accumulate(x.begin() + (x.size() > 1), x.end(), int64_t{1}, std::multiplies<>());
  const bool tile = node.symbol("kind", Symbol::tile) == Symbol::tile;
  std::vector<int64_t> places;
  for (int64_t i = 0; i < m * n; ++i) {
    const std::vector<int64_t> line = in_order((tile ? i % m : i / n) * row, row);
    places.insert(places.end(), line.begin(), line.end());
  }
  return places;
}

std::vector<int64_t> places_of(const Node& node, const Shape& x, const Shape& y, int64_t width) {
  const Shape strides = strides_of(x);
  switch (node.op) {
    case Op::transpose:
      return places(0, y, {strides[1], strides[0]});
    case Op::permute: {
      Shape permuted;
      for (const int64_t axis : node.integers("axes"))
        permuted.push_back(strides[static_cast<size_t>(axis)]);
      return places(0, y, permuted);
    }
    case Op::view: {
      const Shape starts = node.integers("starts");
      const int64_t start =
          std::inner_product(starts.begin(), starts.end(), strides.begin(), int64_t{0});
      return places(start, y, strides);
    }
    case Op::index:
      return in_order(node.integer("at") * strides[0], width);
    case Op::slice:
      return in_order(node.integer("first") * strides[0], width);
    case Op::repeat:
      return repeated(node, x);
    default:  // heads, merge, reshape, outputs_only
      return in_order(0, width);
  }
}

template <class N>
void copy_row(std::vector<N>& to, int64_t to_at, const std::vector<N>& from, int64_t from_at,
              const std::vector<int64_t>& places) {
  if (from.empty()) return;
  for (size_t i = 0; i < places.size(); ++i)
    to[static_cast<size_t>(to_at) + i] = from[static_cast<size_t>(from_at + places[i])];
}

}  // namespace

template <class T>
Status copy(Frame<T>& f) {
  const Wire<T>& x = f.in(0);
  Wire<T>& y = f.out();
  const std::vector<int64_t> places =
      places_of(*f.node, f.type(0).shape, f.out_type().shape, y.width);
  const bool chosen_rows = f.node->op == Op::outputs_only && f.type(0).rows == Rows::tokens;
  for (int64_t r = 0; r < y.rows; ++r) {
    const int64_t from = x.at(chosen_rows ? f.step.outputs[static_cast<size_t>(r)].token : r);
    copy_row(y.real, y.at(r), x.real, from, places);
    copy_row(y.ids, y.at(r), x.ids, from, places);
    copy_row(y.chosen, y.at(r), x.chosen, from, places);
  }
  return {};
}

// concat joins lines of the last axis, and broadcasts the axes before it; stack joins whole rows.
template <class T>
Status join(Frame<T>& f) {
  Wire<T>& y = f.out();
  const bool lines = f.node->op == Op::concat;
  const Shape& shape = f.out_type().shape;
  const int64_t pitch = lines ? shape.back() : y.width;  // between pieces of the same argument
  const Shape lead = lines ? Shape(shape.begin(), shape.end() - 1) : Shape{};
  int64_t at = 0;
  for (int i = 0; i < f.node->n_arguments(); ++i) {
    const Wire<T>& x = f.in(i);
    const Shape& own = f.type(i).shape;
    const int64_t piece = lines ? own.back() : x.width;
    // Where each line of the result finds its line in the argument: axes of length 1 repeat.
    Shape strides(lead.size(), 0);
    int64_t stride = piece;
    for (size_t back = 1; lines && back < own.size(); ++back) {
      const int64_t length = own[own.size() - 1 - back];
      if (length > 1) strides[lead.size() - back] = stride;
      stride *= length;
    }
    const std::vector<int64_t> sources = places(0, lead, strides);
    for (int64_t r = 0; r < y.rows; ++r)
      for (size_t line = 0; line < sources.size(); ++line)
        std::copy_n(x.row(r) + sources[line], piece,
                    y.row(r) + static_cast<int64_t>(line) * pitch + at);
    at += piece;
  }
  return {};
}

template <class T>
Status split(Frame<T>& f) {
  const Wire<T>& x = f.in(0);
  const int64_t d = f.type(0).shape.back();
  int64_t at = 0;
  for (size_t i = 0; i < f.node->outputs.size(); ++i) {
    Wire<T>& y = f.out(static_cast<int>(i));
    const int64_t piece = f.out_type(static_cast<int>(i)).shape.back();
    for (int64_t r = 0; r < y.rows; ++r)
      for (int64_t line = 0; line < x.width / d; ++line)
        std::copy_n(x.row(r) + line * d + at, piece, y.row(r) + line * piece);
    at += piece;
  }
  return {};
}

template <class T>
Status zeros(Frame<T>& f) {
  f.out();
  return {};
}

ETCH_BOTH_PRECISIONS(copy);
ETCH_BOTH_PRECISIONS(join);
ETCH_BOTH_PRECISIONS(split);
ETCH_BOTH_PRECISIONS(zeros);

}  // namespace etch::plain
