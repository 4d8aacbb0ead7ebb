#include "lower/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

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

// ---- every thread for itself

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

// ---- order

bool is_private(const Draft& draft, const Access& a) {
  return a.state < 0 && draft.slot(a.place.buffer).space == Space::thread;
}

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

// Within a layer, calls that need the same number of meetings before them stand together: linears
// of one input side by side, and as few barriers as the dependences allow. Layers keep their order,
// so that nothing is made long before it is needed.
void order(Draft& draft) {
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

// ---- in place

// Operands whose memory the result may take over, element for element.
std::vector<std::string> operands_in_place(const DraftCall& call) {
  switch (call.kind) {
    case ArgsKind::matmul:
      return {"residual"};
    case ArgsKind::elementwise:
      return {"a", "b"};
    case ArgsKind::rope:
    case ArgsKind::norm:
      return {"x.at"};
    default:
      return {};
  }
}

bool equal_strides(const DraftCall& call, const std::string& operand) {
  switch (call.kind) {
    case ArgsKind::matmul:
      return call.i64("residual_stride") == call.i64("y_stride");
    case ArgsKind::elementwise:
      for (int i = 0; i < 4; ++i) {
        const bool used = call.i64(fmt::format("sizes[{}]", i)) > 1 ||
                          (i == 0 && call.i32("rows_of") != ETCH_ONCE);
        if (used && call.i64(fmt::format("{}_strides[{}]", operand, i)) !=
                        call.i64(fmt::format("y_strides[{}]", i)))
          return false;
      }
      return true;
    default:
      return call.op != "sum" && call.i64("x.row_stride") == call.i64("y.row_stride") &&
             call.i64("x.inner_stride") == call.i64("y.inner_stride");
  }
}

void work_in_place(Draft& draft) {
  // The last reader of each slot, and how many write it; kept by the slot whose memory it is.
  std::map<int32_t, int32_t> last_reader, n_writers;
  for (size_t i = 0; i < draft.calls.size(); ++i) {
    for (const Access& a : draft.calls[i].reads)
      if (a.state < 0) last_reader[a.place.buffer] = static_cast<int32_t>(i);
    std::set<int32_t> written;
    for (const Access& a : draft.calls[i].writes)
      if (a.state < 0) written.insert(a.place.buffer);
    for (const int32_t s : written) ++n_writers[s];
  }
  for (size_t i = 0; i < draft.calls.size(); ++i) {
    DraftCall& call = draft.calls[i];
    const std::string y_field =
        call.kind == ArgsKind::matmul || call.kind == ArgsKind::elementwise ? "y" : "y.at";
    for (const std::string& operand : operands_in_place(call)) {
      const Place from = call.place(operand), to = call.place(y_field);
      if (from.buffer < 0 || to.buffer < 0 || from.offset != to.offset ||
          !equal_strides(call, operand))
        continue;
      const auto reads = std::count_if(call.reads.begin(), call.reads.end(), [&](const Access& a) {
        return a.state < 0 && a.place.buffer == from.buffer;
      });
      Slot& source = draft.slot(from.buffer);
      Slot& target = draft.slot(to.buffer);
      const int32_t root = draft.root(from.buffer);
      const bool ends_here = last_reader[from.buffer] == static_cast<int32_t>(i) && reads == 1;
      const bool same_kind =
          source.bytes == target.bytes && source.representation == target.representation;
      if (!ends_here || !same_kind || n_writers[to.buffer] != 1 || draft.root(to.buffer) == root)
        continue;
      if (draft.slot(root).space == target.space && is_per_list(target.space)) {
        target.same_as = root;
      } else if (target.space == Space::output && draft.slot(root).space == Space::arena) {
        draft.slot(root).same_as = to.buffer;  // made where the caller reads the result
      } else {
        continue;
      }
      break;
    }
  }
}

// ---- barriers

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

// ---- the next matrix, whose first tile a thread prefetches

void link_matmuls(Draft& draft) {
  int32_t next = -1;
  for (size_t i = draft.calls.size(); i-- > 0;) {
    if (draft.calls[i].kind != ArgsKind::matmul) continue;
    draft.calls[i].set("next", CallRef{next});
    next = static_cast<int32_t>(i);
  }
}

// ---- what kernels need for themselves

void add_scratch(Draft& draft) {
  for (DraftCall& call : draft.calls) {
    if (call.kernel->scratch_bytes == nullptr) continue;
    if (call.kind != ArgsKind::matmul && call.kind != ArgsKind::expert_matmul &&
        call.kind != ArgsKind::attend)
      continue;
    const int64_t bytes = call.kernel->scratch_bytes(encode_sizes(call).data());
    if (bytes <= 0) continue;
    Affine size;
    size.fixed = align_up(bytes);
    const int32_t slot = draft.add_slot({.name = "scratch of " + std::string(call.kernel->name),
                                         .space = Space::thread,
                                         .size = size});
    call.set("scratch", Place{Space::thread, 0, slot});
  }
}

void find_all_accesses(Draft& draft) {
  for (DraftCall& call : draft.calls) find_accesses(draft, call);
}

}  // namespace

void schedule(Draft& draft) {
  add_scratch(draft);
  find_all_accesses(draft);
  Repeats(draft).run();
  order(draft);
  work_in_place(draft);
  place_barriers(draft);
  link_matmuls(draft);
}

}  // namespace etch
