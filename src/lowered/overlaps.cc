// Do two live buffers share a byte? Lives are found anew here, from what the calls say they touch,
// and counted in phases: a thread may be done with a call while another is still at it, but no
// thread passes a barrier before all have come. A thread's own memory knows no other threads: there
// a life is counted in calls.
#include <fmt/core.h>

#include <vector>

#include "lowered/verify.h"

namespace etch {
namespace {

struct Life {
  int32_t first_call = -1, last_call = -1;
  int64_t first = -1, last = -1;  // phases or calls
};

std::vector<Life> lives_of(const Lowered& lowered, const CallList& list) {
  std::vector<Life> lives(lowered.buffers.size());
  int64_t phase = 0;
  for (int32_t i = 0; i < static_cast<int32_t>(list.calls.size()); ++i) {
    const Call& call = list.calls[static_cast<size_t>(i)];
    for (const auto* accesses : {&call.reads, &call.writes}) {
      for (const Access& a : *accesses) {
        if (a.place.buffer < 0) continue;
        Life& life = lives[static_cast<size_t>(a.place.buffer)];
        const int64_t now = a.place.space == Space::thread ? i : phase;
        if (life.first_call < 0) {
          life.first_call = i;
          life.first = now;
        }
        life.last_call = i;
        life.last = now;
      }
    }
    if (call.barrier_after) ++phase;
  }
  return lives;
}

Status check_list(const Lowered& lowered, bool prefill) {
  const CallList& list = prefill ? lowered.prefill : lowered.decode;
  const std::vector<Life> lives = lives_of(lowered, list);
  const std::string_view which = prefill ? "prefill" : "decode";
  for (size_t i = 0; i < lives.size(); ++i) {
    const Buffer& a = lowered.buffers[i];
    if (!is_per_list(a.space)) continue;
    if (a.prefill != prefill) {
      if (lives[i].first_call >= 0)
        return fail(ErrorKind::internal, "{}: a call touches '{}' of the other list", which,
                    a.name);
      continue;
    }
    if (a.first_call != lives[i].first_call || a.last_call != lives[i].last_call)
      return fail(ErrorKind::internal,
                  "{}: '{}' says it lives from call {} to {}, it does from {} to {}", which, a.name,
                  a.first_call, a.last_call, lives[i].first_call, lives[i].last_call);
    for (size_t j = 0; j < i; ++j) {
      const Buffer& b = lowered.buffers[j];
      if (b.space != a.space || b.prefill != prefill) continue;
      if (lives[i].first > lives[j].last || lives[j].first > lives[i].last) continue;
      if (a.offset >= b.offset + b.bytes || b.offset >= a.offset + a.bytes) continue;
      return fail(ErrorKind::internal,
                  "{}: '{}' ({} at {}, {} bytes) and '{}' (at {}, {} bytes) live at the same time",
                  which, a.name, name(a.space), a.offset, a.bytes, b.name, b.offset, b.bytes);
    }
  }
  return {};
}

}  // namespace

Status check_overlaps(const Lowered& lowered) {
  for (size_t i = 0; i < lowered.buffers.size(); ++i) {
    const Buffer& a = lowered.buffers[i];
    for (size_t j = 0; j < i && !is_per_list(a.space); ++j) {
      const Buffer& b = lowered.buffers[j];
      if (b.space != a.space || a.offset >= b.offset + b.bytes || b.offset >= a.offset + a.bytes)
        continue;
      return fail(ErrorKind::internal, "'{}' and '{}' share bytes of the {} memory", a.name, b.name,
                  name(a.space));
    }
  }
  ETCH_TRY(check_list(lowered, false));
  return check_list(lowered, true);
}

}  // namespace etch
