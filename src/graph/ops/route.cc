// route, expert_weights, mix: who is asked, with what weight, and the sum of the answers.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/ops/operations.h"

namespace etch::plain {
namespace {

template <class T>
std::vector<T> probabilities(Symbol score, const T* s, int64_t n) {
  std::vector<T> p(s, s + n);
  if (score == Symbol::softmax) {
    const T m = *std::max_element(p.begin(), p.end());
    for (T& x : p) x = exponential(x - m);
    const T all = total(p.data(), n);
    for (T& x : p) x /= all;
  }
  for (T& x : p) {
    const double d = static_cast<double>(x);
    if (score == Symbol::sigmoid) x = static_cast<T>(1 / (1 + std::exp(-d)));
    if (score == Symbol::sqrt_softplus)
      x = static_cast<T>(std::sqrt(d > 20 ? d : std::log1p(std::exp(d))));
  }
  return p;
}

// Indices by descending key; ties: the lower index first.
template <class T>
std::vector<int32_t> ranked(std::vector<int32_t> indices, const std::vector<T>& keys) {
  std::stable_sort(indices.begin(), indices.end(), [&](int32_t a, int32_t b) {
    return keys[static_cast<size_t>(a)] > keys[static_cast<size_t>(b)];
  });
  return indices;
}

std::vector<int32_t> up_to(int64_t n) {
  std::vector<int32_t> indices(static_cast<size_t>(n));
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

// The experts of the best groups; a group is ranked by the sum of its two best.
template <class T>
std::vector<int32_t> allowed(const std::vector<T>& choice, int64_t groups, int64_t best) {
  const int64_t n = static_cast<int64_t>(choice.size());
  if (groups <= 1) return up_to(n);
  const int64_t size = n / groups;
  std::vector<T> rank;
  for (int64_t g = 0; g < groups; ++g) {
    std::vector<T> members(choice.begin() + g * size, choice.begin() + (g + 1) * size);
    std::sort(members.rbegin(), members.rend());
    rank.push_back(size > 1 ? members[0] + members[1] : members[0]);
  }
  std::vector<int32_t> order = ranked(up_to(groups), rank);
  order.resize(static_cast<size_t>(best));
  std::sort(order.begin(), order.end());
  std::vector<int32_t> experts;
  for (const int32_t g : order)
    for (int64_t i = 0; i < size; ++i) experts.push_back(static_cast<int32_t>(g * size + i));
  return experts;
}

}  // namespace

template <class T>
Status route(Frame<T>& f) {
  const Node& node = *f.node;
  const Wire<T>& s = f.in(0);
  const Wire<T>* bias = f.named("bias");
  const Wire<T>* chosen = f.named("chosen");
  const int64_t groups = node.integer("groups", 1);
  Wire<T>& y = f.out();
  for (int64_t r = 0; r < y.rows; ++r) {
    const std::vector<T> p = probabilities(node.symbol("score", Symbol::none), s.row(r), s.width);
    std::vector<T> choice = p;
    for (int64_t i = 0; bias && i < s.width; ++i) choice[static_cast<size_t>(i)] += bias->row(r)[i];
    std::vector<int32_t> candidates;
    if (chosen) {
      candidates.assign(chosen->ids.begin() + chosen->at(r),
                        chosen->ids.begin() + chosen->at(r) + chosen->width);
      for (const int32_t id : candidates)
        if (id < 0 || id >= s.width)
          return fail(ErrorKind::usage, "route: expert {} of {} is chosen", id, s.width);
    } else {
      candidates = allowed(choice, groups, node.integer("top_groups", groups));
    }
    const std::vector<int32_t> order = ranked(std::move(candidates), choice);
    T* weights = y.row(r);
    for (int64_t i = 0; i < y.width; ++i) {
      y.ids[static_cast<size_t>(r * y.width + i)] = order[static_cast<size_t>(i)];
      weights[i] = p[static_cast<size_t>(order[static_cast<size_t>(i)])];
    }
    const T all = std::max(total(weights, y.width), static_cast<T>(0x1p-14));
    for (int64_t i = 0; i < y.width; ++i) {
      if (node.truth("renorm")) weights[i] /= all;
      if (node.find("scale")) weights[i] *= f.number("scale");
    }
  }
  return {};
}

template <class T>
Status expert_weights(Frame<T>& f) {
  f.out().real = f.in(0).real;
  return {};
}

// The sum over the chosen experts of weight * y, in the order of choice; `plain`: without weights.
template <class T>
Status mix(Frame<T>& f) {
  const Wire<T>& x = f.in(0);
  const Wire<T>& experts = f.in(1);
  const bool plain = f.node->truth("plain");
  Wire<T>& y = f.out();
  for (int64_t r = 0; r < y.rows; ++r)
    for (int64_t slot = 0; slot < experts.width; ++slot)
      for (int64_t i = 0; i < y.width; ++i) {
        const T one = x.row(r)[slot * y.width + i];
        T& acc = y.row(r)[i];
        acc = plain ? acc + one : std::fma(experts.row(r)[slot], one, acc);
      }
  return {};
}

ETCH_BOTH_PRECISIONS(route);
ETCH_BOTH_PRECISIONS(expert_weights);
ETCH_BOTH_PRECISIONS(mix);

}  // namespace etch::plain
