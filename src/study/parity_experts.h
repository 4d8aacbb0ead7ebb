// Experts and rounding: where two experts score about the same, two runs that round differently may
// choose different ones, and from there on compute different things. Both are right. Such rows are
// found here, so that the comparison can leave them out; a choice that the scores do not explain is
// a difference like any other.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace etch {

class Rerouting {
 public:
  explicit Rerouting(const Graph& graph) : graph_(graph) {
    for (const Node& node : graph.nodes)
      if (!node.dead && node.op == Op::route) scores_of_.insert(node.inputs[0]);
  }

  // Every value on its way, in order; what is needed later is kept.
  void see(int step, ValueId v, std::span<const float> a, std::span<const float> b) {
    if (scores_of_.contains(v)) scores_[{step, v}] = {{a.begin(), a.end()}, {b.begin(), b.end()}};
    if (graph_.value(v).kind == Value::Kind::experts) compare_choices(step, v, a, b);
  }

  const std::set<int64_t>& rows(int step) { return rows_[step]; }
  int64_t count() const {
    int64_t n = 0;
    for (const auto& [step, rows] : rows_) n += std::ssize(rows);
    return n;
  }

 private:
  using Row = std::span<const float>;

  // a, b: [rows, ids and weights].
  void compare_choices(int step, ValueId v, std::span<const float> a, std::span<const float> b) {
    const Node& node = graph_.maker(v);
    const auto scores = scores_.find({step, node.inputs[0]});
    if (scores == scores_.end()) return;
    const auto top = static_cast<size_t>(graph_.value(v).elements());
    const auto n = static_cast<size_t>(graph_.value(node.inputs[0]).elements());
    const auto& [of_a, of_b] = scores->second;
    for (size_t r = 0; (r + 1) * 2 * top <= a.size() && (r + 1) * n <= of_a.size(); ++r) {
      const Row chosen_a = a.subspan(r * 2 * top, top), chosen_b = b.subspan(r * 2 * top, top);
      if (std::is_permutation(chosen_a.begin(), chosen_a.end(), chosen_b.begin())) continue;
      if (explained(node, Row(of_a).subspan(r * n, n), Row(of_b).subspan(r * n, n), chosen_a,
                    chosen_b))
        rows_[step].insert(static_cast<int64_t>(r));
    }
    scores_.erase(scores);
  }

  // Only experts whose scores rounding can put in either order are chosen by one run alone. With
  // groups or a bias scores are not what is ranked; that they differ must do.
  static bool explained(const Node& node, Row scores_a, Row scores_b, Row chosen_a, Row chosen_b) {
    float apart = 0;
    for (size_t i = 0; i < scores_a.size(); ++i)
      apart = std::max(apart, std::abs(scores_a[i] - scores_b[i]));
    if (node.integer("groups", 1) > 1 || node.wire("bias") != kNoValue) return apart > 0;
    for (const float i : chosen_a) {
      if (std::find(chosen_b.begin(), chosen_b.end(), i) != chosen_b.end()) continue;
      for (const float j : chosen_b) {
        if (std::find(chosen_a.begin(), chosen_a.end(), j) != chosen_a.end()) continue;
        const float gap = scores_a[static_cast<size_t>(i)] - scores_a[static_cast<size_t>(j)];
        if (std::abs(gap) > 2 * apart) return false;
      }
    }
    return true;
  }

  const Graph& graph_;
  std::set<ValueId> scores_of_;
  std::map<std::pair<int, ValueId>, std::pair<std::vector<float>, std::vector<float>>> scores_;
  std::map<int, std::set<int64_t>> rows_;
};

}  // namespace etch
