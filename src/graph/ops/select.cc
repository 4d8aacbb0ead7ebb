// select: the positions that attention may look at, chosen by scores against index keys.
//
// With weights, all heads share one choice by the sum over m of w_m relu(q_m . k_j); without, each
// query head chooses by q_m . k_j of its own key head. A choice is a list of ascending positions.
// With index keys of blocks, or with `block`, whole blocks are chosen and given as their positions.
#include <algorithm>
#include <numeric>

#include "graph/ops/operations.h"

namespace etch::plain {
namespace {

// The n best indices; ties: the lower one.
template <class T>
std::vector<int64_t> best_of(const std::vector<T>& scores, int64_t n) {
  std::vector<int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
  });
  order.resize(std::min(order.size(), static_cast<size_t>(n)));
  return order;
}

// Positions of the chosen blocks, up to position i.
std::vector<int64_t> positions_of(const std::vector<int64_t>& blocks, int64_t block, int64_t i) {
  std::vector<int64_t> positions;
  for (const int64_t b : blocks)
    for (int64_t j = b * block; j < (b + 1) * block && j <= i; ++j) positions.push_back(j);
  std::sort(positions.begin(), positions.end());
  return positions;
}

// Blocks of keys by their best score; the last `near` of them always.
template <class T>
std::vector<int64_t> best_blocks(const std::vector<T>& scores, int64_t block, int64_t n,
                                 int64_t near) {
  std::vector<T> best;
  for (size_t j = 0; j < scores.size(); ++j) {
    const size_t b = j / static_cast<size_t>(block);
    if (b == best.size()) best.push_back(scores[j]);
    best[b] = std::max(best[b], scores[j]);
  }
  const int64_t count = static_cast<int64_t>(best.size());
  std::vector<int64_t> chosen;
  for (int64_t b = std::max<int64_t>(count - near, 0); b < count; ++b) chosen.push_back(b);
  for (const int64_t b : best_of(best, count))
    if (static_cast<int64_t>(chosen.size()) < n && b < count - near) chosen.push_back(b);
  return chosen;
}

// What of `scores`, those of the keys that position i may choose from, is taken.
template <class T>
std::vector<int64_t> choose(const Node& node, const StateInfo& keys, const std::vector<T>& scores,
                            int64_t i) {
  const int64_t top = node.integer("top"), block = node.integer("block");
  if (keys.block > 0) {
    std::vector<int64_t> positions = positions_of(best_of(scores, top), keys.block, i);
    for (int64_t j = (i + 1) / keys.block * keys.block; j <= i; ++j) positions.push_back(j);
    return positions;
  }
  if (block > 0)
    return positions_of(best_blocks(scores, block, top, node.integer("near")), block, i);
  std::vector<int64_t> positions = best_of(scores, top);
  std::sort(positions.begin(), positions.end());
  return positions;
}

}  // namespace

template <class T>
Status select(Frame<T>& f) {
  ETCH_TRY(append_rows(f, 1, -1));
  const Wire<T>& q = f.in(0);
  const Wire<T>* weights = f.named("weights");
  const StateInfo& type = f.state_type();
  const int64_t m = f.type(0).shape[0], d = type.d_k;
  Wire<T>& y = f.out();
  const std::vector<RowAt> rows = f.rows();
  for (int64_t r = 0; r < y.rows; ++r) {
    const RowAt& at = rows[static_cast<size_t>(r)];
    const KeptState& kept = f.state(at.sequence);
    const int64_t visible = type.block ? (at.position + 1) / type.block : at.position + 1;
    const int64_t n_keys = std::min(kept.entries, visible);
    const auto product = [&](int64_t head, int64_t j) {
      const double* from = kept.k.data() + (j * type.n + head * type.n / m) * d;
      const std::vector<T> key(from, from + d);
      return dot(q.row(r) + head * d, key.data(), d);
    };
    std::vector<T> scores(static_cast<size_t>(n_keys));
    for (int64_t choice = 0; choice < y.width; ++choice) {
      for (int64_t j = 0; j < n_keys; ++j) {
        T score = weights ? T(0) : product(choice, j);
        for (int64_t head = 0; weights && head < m; ++head)
          score = std::fma(weights->row(r)[head], std::max(product(head, j), T(0)), score);
        scores[static_cast<size_t>(j)] = score;
      }
      y.chosen[static_cast<size_t>(r * y.width + choice)] =
          choose(*f.node, type, scores, at.position);
    }
  }
  return {};
}

ETCH_BOTH_PRECISIONS(select);

}  // namespace etch::plain
