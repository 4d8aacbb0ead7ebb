// linear, linear_experts, matmul, embed: rows of weights are decoded one at a time.
#include <algorithm>

#include "graph/ops/operations.h"

namespace etch::plain {
namespace {

// Row ids of experts and of tokens alike must lie inside the table.
Status check_id(const Node& node, int64_t id, int64_t n) {
  if (id >= 0 && id < n) return {};
  return fail(ErrorKind::usage, "{}: id {} is not in 0..{}", name(node.op), id, n - 1);
}

}  // namespace

// y[.., o] = sum over k of W[o, k] x[.., k] + bias; of a stack of matrices, line i of x takes the
// i-th.
template <class T>
Status linear(Frame<T>& f) {
  const Wire<T>& x = f.in(0);
  const Wire<T>* bias = f.named("bias");
  Wire<T>& y = f.out();
  MatrixRows<T> weight(f, 1);
  const std::vector<int64_t>& shape = f.type(1).shape;
  const int64_t n_matrices = shape.size() == 3 ? shape[0] : 1;
  const int64_t n_in = weight.columns(), n_out = weight.count(), lines = x.width / n_in;
  for (int64_t matrix = 0; matrix < n_matrices; ++matrix)
    for (int64_t o = 0; o < n_out; ++o) {
      const T* w = weight.row(matrix, o);
      for (int64_t r = 0; r < y.rows; ++r)
        for (int64_t line = matrix; line < lines; line += n_matrices) {
          const T product = dot(w, x.row(r) + line * n_in, n_in);
          const int64_t at = line * n_out + o;
          y.row(r)[at] = bias ? product + bias->row(0)[at % bias->width] : product;
        }
    }
  return {};
}

// The same with the matrix of each chosen expert; x is shared by the experts or has lines of each.
template <class T>
Status linear_experts(Frame<T>& f) {
  const Wire<T>& x = f.in(0);
  const Wire<T>& experts = f.in(1);
  const Wire<T>* bias = f.named("bias");
  Wire<T>& y = f.out();
  MatrixRows<T> weight(f, 2);
  const int64_t n_in = weight.columns(), n_out = weight.count();
  const int64_t n_matrices = f.type(2).shape[0], divisor = f.node->integer("divisor", 1);
  const int64_t top = experts.width;
  const bool shared = f.type(0).shape.size() == 1;
  const int64_t lines = shared ? 1 : x.width / n_in / top;  // of each expert
  for (int64_t r = 0; r < y.rows; ++r)
    for (int64_t slot = 0; slot < top; ++slot) {
      const int64_t matrix = experts.ids[static_cast<size_t>(experts.at(r) + slot)] / divisor;
      ETCH_TRY(check_id(*f.node, matrix, n_matrices));
      for (int64_t o = 0; o < n_out; ++o) {
        const T* w = weight.row(matrix, o);
        for (int64_t line = 0; line < lines; ++line) {
          const T* in = x.row(r) + (shared ? 0 : slot * lines + line) * n_in;
          const T product = dot(w, in, n_in);
          y.row(r)[(slot * lines + line) * n_out + o] =
              bias ? product + bias->row(0)[matrix * n_out + o] : product;
        }
      }
    }
  return {};
}

// y[m, n] = sum over k of a[m, k] b[k, n]: two wires, per row.
template <class T>
Status matmul(Frame<T>& f) {
  const Wire<T>& a = f.in(0);
  const Wire<T>& b = f.in(1);
  Wire<T>& y = f.out();
  const int64_t k = f.type(1).shape[0], n = f.type(1).shape[1], m = a.width / k;
  for (int64_t r = 0; r < y.rows; ++r)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        y.row(r)[i * n + j] = dot_column(a.row(r) + i * k, b.row(r) + j, k, n);
  return {};
}

template <class T>
Status embed(Frame<T>& f) {
  const Wire<T>& ids = f.in(1);
  Wire<T>& y = f.out();
  const int64_t n = f.type(0).shape[0], d = f.type(0).shape[1];
  if (f.out_type().kind == Value::Kind::ids) {
    const Wire<T>& table = f.in(0);
    for (int64_t i = 0; i < static_cast<int64_t>(ids.ids.size()); ++i) {
      const int64_t id = ids.ids[static_cast<size_t>(i)];
      ETCH_TRY(check_id(*f.node, id, n));
      std::copy_n(table.ids.begin() + id * d, d, y.ids.begin() + i * d);
    }
    return {};
  }
  MatrixRows<T> table(f, 0);
  for (int64_t i = 0; i < static_cast<int64_t>(ids.ids.size()); ++i) {
    const int64_t id = ids.ids[static_cast<size_t>(i)];
    ETCH_TRY(check_id(*f.node, id, n));
    std::copy_n(table.row(0, id), d, y.real.begin() + i * d);
  }
  return {};
}

ETCH_BOTH_PRECISIONS(linear);
ETCH_BOTH_PRECISIONS(linear_experts);
ETCH_BOTH_PRECISIONS(matmul);
ETCH_BOTH_PRECISIONS(embed);

}  // namespace etch::plain
