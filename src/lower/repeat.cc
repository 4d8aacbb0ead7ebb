// Calls that every thread makes for itself.
#include <algorithm>
#include <map>
#include <set>

#include "lower/schedule_steps.h"

namespace etch {
namespace {

// Row by row, and cheap: what every thread may as well do for itself when there are few rows.
bool is_repeatable(ArgsKind kind) {
  switch (kind) {
    case ArgsKind::embed:
    case ArgsKind::norm:
    case ArgsKind::quantize:
    case ArgsKind::elementwise:
    case ArgsKind::rope:
    case ArgsKind::rotary:
    case ArgsKind::gather:
    case ArgsKind::route:
    case ArgsKind::mix:
    case ArgsKind::expert_order:
      return true;
    default:
      return false;
  }
}

int64_t elements_of(const Draft& draft, const DraftCall& call) {
  int64_t elements = 0;
  for (const Access& a : call.writes)
    if (a.state < 0) {
      const Slot& slot = draft.slot(a.place.buffer);
      elements +=
          slot.size.at(draft.usual_rows, 1) / (slot.representation == Representation::f32 ? 4 : 1);
    }
  return elements;
}

// A barrier costs 50 to 200 ns (kernel findings, section 6), and a vector of d elements about one
// cycle an element to norm and quantise: up to some thousand elements it is cheaper that every
// thread does all of it in its own memory than that threads share it out and wait.
constexpr int64_t kRepeatElements = 16384;

class Repeats {
 public:
  explicit Repeats(Draft& draft) : draft_(draft), repeats_(draft.calls.size(), false) {}

  void run() {
    if (draft_.prefill) return;
    for (size_t i = 0; i < repeats_.size(); ++i) repeats_[i] = may_repeat(draft_.calls[i]);
    find_groups();
    while (drop_what_cannot()) {
    }
    for (size_t i = 0; i < repeats_.size(); ++i) {
      if (!repeats_[i]) continue;
      draft_.calls[i].split = Split::every_thread;
      for (const Access& a : draft_.calls[i].writes)
        draft_.slot(a.place.buffer).space = Space::thread;
    }
  }

 private:
  bool may_repeat(const DraftCall& call) const {
    if (!is_repeatable(call.kind) || elements_of(draft_, call) > kRepeatElements) return false;
    return std::all_of(call.writes.begin(), call.writes.end(), [&](const Access& a) {
      return a.state < 0 && draft_.slot(a.place.buffer).space == Space::arena;
    });
  }

  // Writers that go together: those of one slot; and of all wires of one size that layers hand on,
  // so that every layer finds its input in the same place.
  void find_groups() {
    std::map<int32_t, std::set<int32_t>> writers;
    std::map<int32_t, std::set<int32_t>> layers;
    for (size_t i = 0; i < draft_.calls.size(); ++i) {
      const DraftCall& call = draft_.calls[i];
      for (const Access& a : call.writes) {
        if (a.state >= 0) continue;
        writers[a.place.buffer].insert(static_cast<int32_t>(i));
        layers[a.place.buffer].insert(call.origin.layer);
      }
      for (const Access& a : call.reads)
        if (a.state < 0) layers[a.place.buffer].insert(call.origin.layer);
    }
    std::map<int64_t, std::set<int32_t>> carried;  // by bytes
    for (const auto& [slot, calls] : writers) {
      groups_.push_back(calls);
      const bool table = draft_.calls[static_cast<size_t>(*calls.begin())].kind == ArgsKind::rotary;
      if (layers[slot].size() > 1 && !table)
        carried[draft_.slot(slot).bytes].insert(calls.begin(), calls.end());
    }
    for (const auto& [bytes, calls] : carried) groups_.push_back(calls);
    std::map<int32_t, std::set<int32_t>> by_call;  // slots of one call go together too
    for (size_t i = 0; i < draft_.calls.size(); ++i) {
      if (draft_.calls[i].writes.size() < 2) continue;
      std::set<int32_t> all;
      for (const Access& a : draft_.calls[i].writes)
        if (a.state < 0) all.insert(writers[a.place.buffer].begin(), writers[a.place.buffer].end());
      if (!all.empty()) groups_.push_back(all);
    }
  }

  bool drop_what_cannot() {
    bool dropped = false;
    for (const std::set<int32_t>& group : groups_) {
      const auto repeats = [&](int32_t i) { return bool{repeats_[static_cast<size_t>(i)]}; };
      if (std::all_of(group.begin(), group.end(), repeats) ||
          std::none_of(group.begin(), group.end(), repeats))
        continue;
      for (const int32_t i : group) repeats_[static_cast<size_t>(i)] = false;
      dropped = true;
    }
    return dropped;
  }

  Draft& draft_;
  std::vector<bool> repeats_;
  std::vector<std::set<int32_t>> groups_;
};

}  // namespace

void repeat_in_every_thread(Draft& draft) { Repeats(draft).run(); }

}  // namespace etch
