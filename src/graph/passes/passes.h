// The passes, a file each, and what they share. A pass leaves the nodes it replaces behind as dead
// ones and puts new ones at the end, so that ids stay what they are.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace etch {

void fold_constants(Graph& graph);
void share_common(Graph& graph);
void last_rows(Graph& graph);
void drop_unused(Graph& graph);

// Other values in the place of some: filled while walking forward, applied to what comes after.
class Replacements {
 public:
  explicit Replacements(const Graph& graph) : by_(graph.values.size(), kNoValue) {}
  void set(ValueId value, ValueId by) { by_[static_cast<size_t>(value)] = by; }
  void apply(ValueId& value) const {
    const size_t i = static_cast<size_t>(value);
    if (i < by_.size() && by_[i] != kNoValue) value = by_[i];
  }
  void apply(Node& node) const {
    for (ValueId& v : node.inputs) apply(v);
  }
  void apply_to_outputs(Graph& graph) const {
    for (GraphOutput& output : graph.outputs) apply(output.value);
  }

 private:
  std::vector<ValueId> by_;
};

}  // namespace etch
