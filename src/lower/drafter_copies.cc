// Copies, rows as kernels want them, and elementwise calls with broadcasting.
#include <array>

#include <fmt/core.h>

#include "lower/drafter.h"

namespace etch {
namespace {

struct Axes {
  // Per axis, outermost first: its length and the strides of a, b, y.
  std::vector<std::array<int64_t, 4>> axes;

  void add(int64_t size, int64_t a, int64_t b, int64_t y) {
    if (size == 1) return;
    if (!axes.empty()) {  // one axis with the one outside it?
      auto& last = axes.back();
      if (last[1] == a * size && last[2] == b * size && last[3] == y * size) {
        last = {last[0] * size, a, b, y};
        return;
      }
    }
    axes.push_back({size, a, b, y});
  }
};

// The stride of an operand along axis i of a shape of `rank` axes: 0 where it is repeated.
int64_t stride_along(const Operand* x, size_t i, size_t rank) {
  if (x == nullptr || x->shape.size() + i < rank) return 0;
  const size_t own = i - (rank - x->shape.size());
  return x->shape[own] == 1 ? 0 : x->strides[own];
}

int64_t stride_of_rows(const Operand* x) {
  return x == nullptr || x->rows == Rows::once ? 0 : x->row_stride;
}

Place moved(Place p, int64_t bytes) {
  if (p.space != Space::none) p.offset += bytes;
  return p;
}

}  // namespace

Status Drafter::copy_to(const Operand& x, const Operand& y) {
  return elementwise({.op = ETCH_EW_COPY, .a = &x}, y);
}

Result<Operand> Drafter::copy(const Operand& x) {
  const std::string from = x.place.buffer >= 0 ? draft.slot(x.place.buffer).name : "constant";
  const Operand y = make(from + " (copy)", x.rows, x.shape);
  ETCH_TRY(copy_to(x, y));
  return y;
}

Result<Operand> Drafter::contiguous(const Operand& x) {
  if (is_tight(x)) return x;
  return copy(x);
}

Result<RowsView> Drafter::rows(const Operand& x) {
  const size_t rank = x.shape.size();
  RowsView view;
  view.at = x.place;
  view.row_stride = x.row_stride;
  view.rows.of = rows_of(x.rows);
  if (rank == 0) return view;
  view.d = x.shape.back();
  bool fits = view.d == 1 || x.strides.back() == 4;
  // Leading axes of more than one element must be one axis in truth.
  int64_t stride = 0, count = 1;
  for (size_t i = rank - 1; i-- > 0;) {
    if (x.shape[i] == 1) continue;
    if (count == 1)
      stride = x.strides[i];
    else if (x.strides[i] != stride * count)
      fits = false;
    count *= x.shape[i];
  }
  if (!fits) return rows(ETCH_TRY(copy(x)));
  view.rows.per = static_cast<int32_t>(count);
  view.inner_stride = count == 1 ? 4 * view.d : stride;
  return view;
}

Status Drafter::elementwise(const Elementwise& what, const Operand& y) {
  const size_t rank = y.shape.size();
  Axes axes;
  for (size_t i = 0; i < rank; ++i)
    axes.add(y.shape[i], stride_along(what.a, i, rank), stride_along(what.b, i, rank),
             y.strides[i]);
  // The outermost axis of the kernel is that of the rows where there are any.
  const bool has_rows = y.rows != Rows::once;
  const size_t most = has_rows ? 3 : 4;
  int64_t repeats = 1;
  std::array<int64_t, 4> outer = {1, 0, 0, 0};
  if (axes.axes.size() > most) {
    outer = axes.axes.front();
    repeats = outer[0];
    axes.axes.erase(axes.axes.begin());
  }
  for (int64_t i = 0; i < repeats; ++i) {
    DraftCall& call = emit(ArgsKind::elementwise, "elementwise");
    call.set("a", what.a == nullptr ? Place{} : moved(what.a->place, i * outer[1]));
    call.set("b", what.b == nullptr ? Place{} : moved(what.b->place, i * outer[2]));
    call.set("y", moved(y.place, i * outer[3]));
    for (size_t axis = 0; axis < 4; ++axis) {
      std::array<int64_t, 4> values = {1, 0, 0, 0};
      const size_t from_end = 4 - axis;
      if (from_end <= axes.axes.size()) values = axes.axes[axes.axes.size() - from_end];
      if (axis == 0 && has_rows)
        values = {1, stride_of_rows(what.a), stride_of_rows(what.b), y.row_stride};
      call.set(fmt::format("sizes[{}]", axis), values[0]);
      call.set(fmt::format("a_strides[{}]", axis), values[1]);
      call.set(fmt::format("b_strides[{}]", axis), values[2]);
      call.set(fmt::format("y_strides[{}]", axis), values[3]);
    }
    call.set("constant", what.constant);
    call.set("lo", what.lo);
    call.set("hi", what.hi);
    call.set("op", static_cast<int32_t>(what.op));
    call.set("rows_of", rows_of(y.rows));
  }
  return {};
}

}  // namespace etch
