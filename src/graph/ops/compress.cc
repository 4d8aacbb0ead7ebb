// compress (circuit-language.md section 12): one row per complete block of r tokens; per entry a
// softmax of s over the block's tokens weighs x. With overlap the entries are halves: the first
// half is pooled from the block before, the second from the block itself.
//
//   overlap, block b:   tokens of block b-1: x[0, d) by s[0, d)      tokens of block b: x[d, 2d) by
//   s[d, 2d)
//
// The state holds x and s of the last tokens side by side, the oldest first.
#include <algorithm>
#include <limits>

#include "graph/ops/operations.h"

namespace etch::plain {
namespace {

// Softmax of s weighs x: of as many tokens as the lists have.
template <class T>
T pooled(const std::vector<T>& x, const std::vector<T>& s) {
  const T m = *std::max_element(s.begin(), s.end());
  T all = 0, sum = 0;
  for (const T score : s) all += exponential(score - m);
  for (size_t i = 0; i < x.size(); ++i) sum = std::fma(exponential(s[i] - m) / all, x[i], sum);
  return sum;
}

}  // namespace

template <class T>
Status compress(Frame<T>& f) {
  const Wire<T>&x = f.in(0), &s = f.in(1);
  const int64_t block = f.node->integer("block"), width = x.width, d = f.out_type().elements();
  const bool overlap = f.node->truth("overlap");
  const int64_t d_state = f.state_type().d_k, n_state = f.state_type().n;
  Wire<T>& y = f.out();
  int64_t done = 0;
  for (const RowAt& at : f.step.tokens) {
    KeptState& state = f.state(at.sequence);
    // Rows of the last n_state tokens, then this one: `ago` counts back from it.
    std::vector<double> now(x.row(at.token), x.row(at.token) + width);
    now.insert(now.end(), s.row(at.token), s.row(at.token) + width);
    const auto row = [&](int64_t ago) {
      return ago == 0 ? now.data() : state.k.data() + (n_state - ago) * d_state;
    };
    if ((at.position + 1) % block == 0) {
      for (int64_t i = 0; i < d; ++i) {
        std::vector<T> xs, scores;
        const auto take = [&](int64_t first_ago, int64_t entry) {
          for (int64_t ago = first_ago; ago > first_ago - block; --ago) {
            xs.push_back(static_cast<T>(row(ago)[entry]));
            scores.push_back(static_cast<T>(row(ago)[width + entry]));
          }
        };
        if (overlap && at.position >= block) take(2 * block - 1, i);
        take(block - 1, overlap ? d + i : i);
        y.row(done)[i] = pooled(xs, scores);
      }
      ++done;
    }
    std::copy(state.k.begin() + d_state, state.k.end(), state.k.begin());
    std::copy(now.begin(), now.end(), state.k.end() - d_state);
  }
  return {};
}

ETCH_BOTH_PRECISIONS(compress);

}  // namespace etch::plain
