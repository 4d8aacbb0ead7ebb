// conv1d and shift: what a token sees of the few tokens before it. The state holds the last rows,
// the oldest first, zero before the start.
#include <algorithm>

#include "graph/ops/operations.h"

namespace etch::plain {
namespace {

template <class T>
void remember(KeptState& state, const T* x, int64_t d) {
  if (state.k.empty()) return;
  std::copy(state.k.begin() + d, state.k.end(), state.k.begin());
  std::copy_n(x, d, state.k.end() - d);
}

}  // namespace

// y[d] = sum over j, ascending, of w[d, j] * x[d] of (n - 1 - j) * dilation tokens ago, + bias
template <class T>
Status conv1d(Frame<T>& f) {
  const Wire<T>& x = f.in(0);
  const Wire<T>& w = f.in(1);
  const Wire<T>* bias = f.named("bias");
  Wire<T>& y = f.out();
  const int64_t d = x.width, n = f.type(1).shape[1], dilation = f.node->integer("dilation", 1);
  const std::vector<RowAt> rows = f.rows();
  for (int64_t r = 0; r < y.rows; ++r) {
    KeptState& state = f.state(rows[static_cast<size_t>(r)].sequence);
    for (int64_t c = 0; c < d; ++c) {
      T acc = 0;
      for (int64_t j = 0; j < n; ++j) {
        const T seen = j == n - 1
                           ? x.row(r)[c]
                           : static_cast<T>(state.k[static_cast<size_t>(j * dilation * d + c)]);
        acc = std::fma(w.row(0)[c * n + j], seen, acc);
      }
      y.row(r)[c] = bias ? acc + bias->row(0)[c] : acc;
    }
    remember(state, x.row(r), d);
  }
  return {};
}

template <class T>
Status shift(Frame<T>& f) {
  const Wire<T>& x = f.in(0);
  Wire<T>& y = f.out();
  const std::vector<RowAt> rows = f.rows();
  for (int64_t r = 0; r < y.rows; ++r) {
    KeptState& state = f.state(rows[static_cast<size_t>(r)].sequence);
    std::copy(state.k.begin(), state.k.end(), y.row(r));
    remember(state, x.row(r), x.width);
  }
  return {};
}

ETCH_BOTH_PRECISIONS(conv1d);
ETCH_BOTH_PRECISIONS(shift);

}  // namespace etch::plain
