// sum, softmax, rmsnorm, layernorm, l2norm: over the last axis.
#include <algorithm>

#include "graph/ops/operations.h"

namespace etch::plain {
namespace {

// Calls f(x, y, line) for each line of the last axis; `line` counts inside a row.
template <class T, class F>
void each_line(Frame<T>& f, F&& apply) {
  const Wire<T>& x = f.in(0);
  Wire<T>& y = f.out();
  const int64_t d = f.type(0).shape.back(), d_out = f.out_type().shape.back();
  for (int64_t r = 0; r < y.rows; ++r)
    for (int64_t line = 0; line < x.width / d; ++line)
      apply(x.row(r) + line * d, y.row(r) + line * d_out, line);
}

}  // namespace

template <class T>
Status sum(Frame<T>& f) {
  const int64_t d = f.type(0).shape.back();
  each_line(f, [&](const T* x, T* y, int64_t) { *y = total(x, d); });
  return {};
}

template <class T>
Status softmax(Frame<T>& f) {
  const int64_t d = f.type(0).shape.back();
  each_line(f, [&](const T* x, T* y, int64_t) {
    const T m = *std::max_element(x, x + d);
    for (int64_t i = 0; i < d; ++i) y[i] = exponential(x[i] - m);
    const T all = total(y, d);
    for (int64_t i = 0; i < d; ++i) y[i] /= all;
  });
  return {};
}

// rmsnorm: x * (1 / sqrt(mean(x²) + eps)) * w       layernorm: the same of x - mean(x), + bias
// l2norm:  x * (1 / sqrt(sum(x²) + eps))
template <class T>
Status norm(Frame<T>& f) {
  const Op op = f.node->op;
  const int64_t d = f.type(0).shape.back();
  const T eps = f.number("eps");
  const Wire<T>* weight = f.named("weight");
  const Wire<T>* bias = f.named("bias");
  // A weight may span several lines ([n_heads, d_head]): line i takes its i-th, modulo its lines.
  const auto of_line = [&](const Wire<T>& w, int64_t line) {
    return w.row(0) + line * d % w.width;
  };
  each_line(f, [&](const T* x, T* y, int64_t line) {
    const T mean = op == Op::layernorm ? total(x, d) / static_cast<T>(d) : T(0);
    for (int64_t i = 0; i < d; ++i) y[i] = op == Op::layernorm ? x[i] - mean : x[i];
    const T squares = dot(y, y, d);
    const T size = op == Op::l2norm ? squares : squares / static_cast<T>(d);
    const T factor = 1 / std::sqrt(size + eps);
    for (int64_t i = 0; i < d; ++i) {
      y[i] *= factor;
      if (weight) y[i] *= of_line(*weight, line)[i];
      if (bias) y[i] += of_line(*bias, line)[i];
    }
  });
  return {};
}

ETCH_BOTH_PRECISIONS(sum);
ETCH_BOTH_PRECISIONS(softmax);
ETCH_BOTH_PRECISIONS(norm);

}  // namespace etch::plain
