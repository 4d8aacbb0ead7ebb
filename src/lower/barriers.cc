// Where threads wait for each other.
#include <algorithm>

#include "lower/schedule_steps.h"

namespace etch {
namespace {

struct Touch {
  Access access;
  bool write;
};

bool collide(const Draft& draft, const Touch& a, const Touch& b) {
  if (!a.write && !b.write) return false;
  if (a.access.state >= 0 || b.access.state >= 0) return a.access.state == b.access.state;
  if (draft.root(a.access.place.buffer) != draft.root(b.access.place.buffer)) return false;
  const int64_t from = a.access.place.offset, to = b.access.place.offset;
  if (from >= to + b.access.bytes || to >= from + a.access.bytes) return false;
  if (a.access.stride == 0 || a.access.stride != b.access.stride) return true;
  const int64_t stride = a.access.stride;
  const int64_t apart = ((to - from) % stride + stride) % stride;
  return !(apart >= a.access.piece && apart + b.access.piece <= stride);
}

}  // namespace

// A barrier as late as possible, just before the first call that needs it: no placement that keeps
// the order has fewer.
void place_barriers(Draft& draft) {
  std::vector<Touch> phase;
  for (size_t i = 0; i < draft.calls.size(); ++i) {
    const DraftCall& call = draft.calls[i];
    std::vector<Touch> touches;
    for (const Access& a : call.reads)
      if (!is_private(draft, a)) touches.push_back({a, false});
    for (const Access& a : call.writes)
      if (!is_private(draft, a)) touches.push_back({a, true});
    const bool needed = std::any_of(touches.begin(), touches.end(), [&](const Touch& t) {
      return std::any_of(phase.begin(), phase.end(),
                         [&](const Touch& earlier) { return collide(draft, earlier, t); });
    });
    if (needed) {
      draft.calls[i - 1].barrier_after = true;
      phase.clear();
    }
    phase.insert(phase.end(), touches.begin(), touches.end());
  }
}

}  // namespace etch
