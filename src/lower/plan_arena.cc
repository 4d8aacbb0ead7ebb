// Addresses for slots. A slot lives from the first call that touches it to the last: counted in
// phases between barriers where threads share the memory (a slower thread may still be in an
// earlier call), in calls where every thread has its own.
//
//   bytes ^   [q][a ][g     ][ ... ]      then the rest in order of time, each at the lowest place
//         |         [t]       [t]         that is free for its whole life; above what layers hand
//         on, |   [x  x  x  x  x  x  x ]      which comes first, at the bottom
//         +---------------------------> phases
//
// Without a barrier between two layers the last buffers (t) of one live beside the first of the
// next; they count among what is handed on. So the memory above looks the same to every layer, and
// layers of a kind get equal offsets.
#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"
#include "lower/schedule.h"

namespace etch {
namespace {

struct Life {
  int32_t slot = -1;
  int32_t first_call = -1, last_call = -1;
  int64_t first = 0, last = 0;  // phases or calls
  int32_t segment = 0;          // the layer (or what stands before, after them) it begins in
  bool crosses_layers = false;  // touched by two, or still alive when the next begins
  bool in_layer = false;
  int64_t offset = -1;
  std::set<int32_t> layers;  // that touch it
};

std::vector<Life> find_lives(const Draft& draft) {
  std::map<int32_t, Life> lives;
  int64_t phase = 0;
  int32_t segment = 0;
  std::vector<int64_t> segment_begins = {0};  // phases
  Life last_layer;                            // .last_call, .last: where the layers end
  for (size_t i = 0; i < draft.calls.size(); ++i) {
    const DraftCall& call = draft.calls[i];
    if (i > 0 && call.origin.layer != draft.calls[i - 1].origin.layer) {
      ++segment;
      segment_begins.push_back(phase);
    }
    for (const auto* accesses : {&call.reads, &call.writes}) {
      for (const Access& a : *accesses) {
        if (a.state >= 0) continue;
        const int32_t slot = draft.root(a.place.buffer);
        const bool own = draft.slot(slot).space == Space::thread;
        const int64_t now = own ? static_cast<int64_t>(i) : phase;
        Life& life = lives[slot];
        if (life.slot < 0) {
          life.slot = slot;
          life.first_call = static_cast<int32_t>(i);
          life.first = now;
          life.segment = segment;
          life.in_layer = call.origin.layer >= 0;
        }
        life.last_call = static_cast<int32_t>(i);
        life.last = now;
        life.crosses_layers |= life.segment != segment;
        life.layers.insert(call.origin.layer);
      }
    }
    if (call.origin.layer >= 0) {
      last_layer.last_call = static_cast<int32_t>(i);
      last_layer.last = phase;
    }
    if (call.barrier_after) ++phase;
  }
  // What several layers read, as a rotary table, keeps its place until the last layer is done: else
  // the layers behind its last reader would be laid out differently from the others of their kind.
  std::vector<Life> result;
  for (auto& [slot, life] : lives) {
    if (life.layers.size() > 2) {
      const bool own = draft.slot(slot).space == Space::thread;
      life.last = std::max(life.last, own ? last_layer.last_call : last_layer.last);
    }
    const auto next = static_cast<size_t>(life.segment) + 1;
    life.crosses_layers |= draft.slot(slot).space == Space::arena && next < segment_begins.size() &&
                           life.last >= segment_begins[next];
    result.push_back(life);
  }
  return result;
}

// The lowest place that is free while `life` lasts.
int64_t lowest_free(const std::vector<const Life*>& placed, const Life& life, int64_t floor,
                    const Draft& draft) {
  const int64_t bytes = align_up(draft.slot(life.slot).bytes);
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (const Life* other : placed)
    if (other->first <= life.last && life.first <= other->last)
      taken.emplace_back(other->offset, other->offset + align_up(draft.slot(other->slot).bytes));
  std::sort(taken.begin(), taken.end());
  int64_t offset = floor;
  for (const auto& [begin, end] : taken) {
    if (offset + bytes <= begin) break;
    offset = std::max(offset, end);
  }
  return offset;
}

int64_t place(std::vector<Life>& lives, Space space, const Draft& draft) {
  std::vector<Life*> queue;
  for (Life& life : lives)
    if (draft.slot(life.slot).space == space) queue.push_back(&life);
  std::stable_sort(queue.begin(), queue.end(), [](const Life* a, const Life* b) {
    if (a->crosses_layers != b->crosses_layers) return a->crosses_layers;
    return std::tie(a->first, a->first_call, a->slot) < std::tie(b->first, b->first_call, b->slot);
  });
  std::vector<const Life*> placed;
  int64_t end = 0, handed_on = 0;
  for (Life* life : queue) {
    const bool above = life->in_layer && !life->crosses_layers;
    life->offset = lowest_free(placed, *life, above ? handed_on : 0, draft);
    placed.push_back(life);
    end = std::max(end, life->offset + align_up(draft.slot(life->slot).bytes));
    if (life->crosses_layers) handed_on = end;
  }
  return end;
}

Call finish(DraftCall& draft_call, const Draft& draft, const std::map<int32_t, int32_t>& buffer_of,
            const std::vector<Buffer>& buffers) {
  const auto resolve = [&](Place& p) {
    if (p.buffer < 0) return;
    p.buffer = buffer_of.at(draft.root(p.buffer));
    const Buffer& b = buffers[static_cast<size_t>(p.buffer)];
    p.space = b.space;
    p.offset += b.offset;
  };
  Call call;
  call.kernel = draft_call.kernel;
  call.args = std::move(draft_call.args);
  call.split = draft_call.split;
  call.barrier_after = draft_call.barrier_after;
  call.reads = std::move(draft_call.reads);
  call.writes = std::move(draft_call.writes);
  call.origin = std::move(draft_call.origin);
  for (Arg& arg : call.args)
    if (Place* p = std::get_if<Place>(&arg)) resolve(*p);
  for (auto* accesses : {&call.reads, &call.writes})
    for (Access& a : *accesses) resolve(a.place);
  return call;
}

}  // namespace

CallList plan_arena(Draft draft, Lowered& lowered) {
  std::vector<Life> lives = find_lives(draft);
  lowered.arena_bytes = std::max(lowered.arena_bytes, place(lives, Space::arena, draft));
  lowered.thread_bytes = std::max(lowered.thread_bytes, place(lives, Space::thread, draft));
  std::map<int32_t, int32_t> buffer_of;
  for (size_t s = 0; s < draft.slots.size(); ++s)
    if (draft.slots[s].shared >= 0) buffer_of[static_cast<int32_t>(s)] = draft.slots[s].shared;
  for (const Life& life : lives) {
    const Slot& slot = draft.slot(life.slot);
    if (slot.shared >= 0) continue;
    ETCH_CHECK(is_per_list(slot.space) && life.offset >= 0, "'{}'", slot.name);
    buffer_of[life.slot] = static_cast<int32_t>(lowered.buffers.size());
    lowered.buffers.push_back({.name = slot.name,
                               .space = slot.space,
                               .offset = life.offset,
                               .bytes = slot.bytes,
                               .size = slot.size,
                               .representation = slot.representation,
                               .first_call = life.first_call,
                               .last_call = life.last_call,
                               .value = slot.value,
                               .prefill = draft.prefill});
  }
  CallList list;
  list.max_rows = draft.max_rows;
  list.max_outputs = draft.max_outputs;
  for (DraftCall& call : draft.calls)
    list.calls.push_back(finish(call, draft, buffer_of, lowered.buffers));
  return list;
}

}  // namespace etch
