// linear_attention (circuit-language.md section 11): per head a matrix S [d_k, d_v] that every
// token fades, corrects and adds to, and reads.
//
//   S- is S before the token.   S = exp(a) S-          fade, per head or per key entry
//   v = b (v - S' k)                                   delta rule: only what S does not know yet
//   S = S - t (S-' r)'                                 remove along r, insert along t
//   S = S + k v'          y = S' q   (read: before: S-' q)
#include "graph/ops/operations.h"

namespace etch::plain {
namespace {

// y[c] = sum over k of s[k, c] * x[k]
template <class T>
std::vector<T> times(const std::vector<T>& s, const T* x, int64_t d_k, int64_t d_v) {
  std::vector<T> y;
  for (int64_t c = 0; c < d_v; ++c) y.push_back(dot_column(x, s.data() + c, d_k, d_v));
  return y;
}

// s[k, c] += x[k] * y[c]
template <class T>
void add_outer(std::vector<T>& s, const T* x, const std::vector<T>& y, int64_t d_k, T sign = 1) {
  const int64_t d_v = static_cast<int64_t>(y.size());
  for (int64_t k = 0; k < d_k; ++k)
    for (int64_t c = 0; c < d_v; ++c) {
      T& at = s[static_cast<size_t>(k * d_v + c)];
      at = std::fma(sign * x[k], y[static_cast<size_t>(c)], at);
    }
}

}  // namespace

template <class T>
Status linear_attention(Frame<T>& f) {
  const Wire<T>&q = f.in(0), &k = f.in(1), &v = f.in(2);
  const Wire<T>*decay = f.named("log_decay"), *beta = f.named("beta");
  const Wire<T>*remove = f.named("remove"), *insert = f.named("insert");
  const bool before = f.node->symbol("read", Symbol::none) == Symbol::before;
  const StateInfo& type = f.state_type();
  const int64_t n = type.n, d_k = type.d_k, d_v = type.d_v, groups = f.type(0).shape[0];
  const bool per_key = f.graph.value(f.node->wire("log_decay")).shape.size() == 2;
  Wire<T>& y = f.out();
  const std::vector<RowAt> rows = f.rows();
  for (int64_t r = 0; r < y.rows; ++r) {
    KeptState& state = f.state(rows[static_cast<size_t>(r)].sequence);
    for (int64_t h = 0; h < n; ++h) {
      const int64_t group = h * groups / n;
      const T *q_h = q.row(r) + group * d_k, *k_h = k.row(r) + group * d_k;
      const auto matrix = state.k.begin() + h * d_k * d_v;
      const std::vector<T> old(matrix, matrix + d_k * d_v);
      std::vector<T> s = old;
      for (int64_t i = 0; i < d_k; ++i) {
        const T keep = exponential(decay->row(r)[per_key ? h * d_k + i : h]);
        for (int64_t c = 0; c < d_v; ++c) s[static_cast<size_t>(i * d_v + c)] *= keep;
      }
      std::vector<T> v_h(v.row(r) + h * d_v, v.row(r) + (h + 1) * d_v);
      if (beta) {
        const std::vector<T> known = times(s, k_h, d_k, d_v);
        for (size_t c = 0; c < v_h.size(); ++c) v_h[c] = beta->row(r)[h] * (v_h[c] - known[c]);
      }
      if (remove) {
        const std::vector<T> removed = times(old, remove->row(r) + h * d_k, d_k, d_v);
        add_outer(s, insert->row(r) + h * d_k, removed, d_k, T(-1));
      }
      add_outer(s, k_h, v_h, d_k);
      const std::vector<T> read = times(before ? old : s, q_h, d_k, d_v);
      std::copy(read.begin(), read.end(), y.row(r) + h * d_v);
      std::copy(s.begin(), s.end(), matrix);
    }
  }
  return {};
}

ETCH_BOTH_PRECISIONS(linear_attention);

}  // namespace etch::plain
