// The order of calls: as few meetings of threads as their dependences allow.
#include <algorithm>
#include <map>
#include <tuple>

#include "lower/schedule_steps.h"

namespace etch {
namespace {

// Calls that must come first, and whether threads must meet in between.
struct Dependence {
  int32_t on = -1;
  bool meet = false;
};

std::vector<std::vector<Dependence>> find_dependences(const Draft& draft) {
  std::vector<std::vector<Dependence>> result(draft.calls.size());
  std::map<int32_t, std::vector<int32_t>> slot_writers, state_readers, state_writers;
  for (size_t i = 0; i < draft.calls.size(); ++i) {
    const DraftCall& call = draft.calls[i];
    const auto index = static_cast<int32_t>(i);
    const auto depend = [&](const std::vector<int32_t>& on, bool meet) {
      for (const int32_t j : on)
        if (j != index) result[i].push_back({j, meet});
    };
    for (const Access& a : call.reads) {
      if (a.state >= 0) {
        depend(state_writers[a.state], true);
        state_readers[a.state].push_back(index);
      } else {
        depend(slot_writers[a.place.buffer], !is_private(draft, a));
      }
    }
    for (const Access& a : call.writes) {
      if (a.state >= 0) {
        depend(state_readers[a.state], true);
        depend(state_writers[a.state], true);
        state_writers[a.state].push_back(index);
      } else {
        slot_writers[a.place.buffer].push_back(index);
      }
    }
  }
  return result;
}

}  // namespace

// Within a layer, calls that need the same number of meetings before them stand together: linears
// of one input side by side, and as few barriers as the dependences allow. Layers keep their order,
// so that nothing is made long before it is needed.
void order_calls(Draft& draft) {
  const std::vector<std::vector<Dependence>> dependences = find_dependences(draft);
  struct Key {
    int32_t segment, level, index;
    bool operator<(const Key& o) const {
      return std::tie(segment, level, index) < std::tie(o.segment, o.level, o.index);
    }
  };
  std::vector<Key> keys;
  int32_t segment = 0;
  for (size_t i = 0; i < draft.calls.size(); ++i) {
    if (i > 0 && draft.calls[i].origin.layer != draft.calls[i - 1].origin.layer) ++segment;
    int32_t level = 0;
    for (const Dependence& d : dependences[i]) {
      const Key& before = keys[static_cast<size_t>(d.on)];
      if (before.segment == segment) level = std::max(level, before.level + (d.meet ? 1 : 0));
    }
    keys.push_back({segment, level, static_cast<int32_t>(i)});
  }
  std::sort(keys.begin(), keys.end());
  std::vector<DraftCall> ordered;
  for (const Key& k : keys) ordered.push_back(std::move(draft.calls[static_cast<size_t>(k.index)]));
  draft.calls = std::move(ordered);
}

}  // namespace etch
