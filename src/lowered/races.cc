// Races. Threads meet at barriers and nowhere else; between two of them the calls of a phase run in
// any interleaving, and any thread may work on any item. So in one phase no byte that is written by
// one call may be touched by another, but for memory that every thread has by itself.
#include <fmt/core.h>

#include <map>
#include <vector>

#include "lowered/spans.h"
#include "lowered/verify.h"

namespace etch {
namespace {

struct Touch {
  const Access* access;
  int32_t call;
  bool write;
};

bool is_shared(const Access& a) {
  return a.state >= 0 || a.place.space == Space::arena || a.place.space == Space::output ||
         a.place.space == Space::input;
}

bool meet(const Access& a, const Access& b) {
  if (a.state >= 0 || b.state >= 0) return a.state == b.state;
  if (a.place.space != b.place.space) return false;
  if (a.place.offset >= b.place.offset + b.bytes || b.place.offset >= a.place.offset + a.bytes)
    return false;
  return !each_span(a, [&](Span s) {
    return each_span(b, [&](Span t) { return s.begin >= t.end || t.begin >= s.end; });
  });
}

// Columns of the same rows: strides are equal, and the pieces lie beside each other.
bool are_separate_columns(const Access& a, const Access& b) {
  if (a.stride == 0 || a.stride != b.stride || a.state >= 0 || b.state >= 0) return false;
  int64_t apart = (b.place.offset - a.place.offset) % a.stride;
  if (apart < 0) apart += a.stride;
  return apart >= a.piece && apart + b.piece <= a.stride;
}

std::string_view kernel_name(const Call& call) {
  return call.kernel == nullptr ? "?" : call.kernel->name;
}

Status check_list(const CallList& list, std::string_view which) {
  std::vector<Touch> phase;
  const auto add = [&](int32_t i, const Access& access, bool write) -> Status {
    if (!is_shared(access)) return {};
    for (const Touch& t : phase) {
      if (t.call == i || !(t.write || write)) continue;
      if (are_separate_columns(*t.access, access) || !meet(*t.access, access)) continue;
      const auto& calls = list.calls;
      return fail(ErrorKind::internal,
                  "{}: calls {} ({}) and {} ({}) {} {} without a barrier between them", which,
                  t.call, kernel_name(calls[static_cast<size_t>(t.call)]), i,
                  kernel_name(calls[static_cast<size_t>(i)]),
                  t.write && write ? "both write" : "write and read",
                  access.state >= 0
                      ? fmt::format("state {}", access.state)
                      : fmt::format("{} at {}", name(access.place.space), access.place.offset));
    }
    phase.push_back({&access, i, write});
    return {};
  };
  for (int32_t i = 0; i < static_cast<int32_t>(list.calls.size()); ++i) {
    const Call& call = list.calls[static_cast<size_t>(i)];
    for (const Access& a : call.reads) ETCH_TRY(add(i, a, false));
    for (const Access& a : call.writes) {
      if (call.split == Split::every_thread && is_shared(a))
        return fail(ErrorKind::internal, "{}: call {} ({}) is made by every thread and writes {}",
                    which, i, kernel_name(call), name(a.place.space));
      ETCH_TRY(add(i, a, true));
    }
    if (call.barrier_after) phase.clear();
  }
  return {};
}

}  // namespace

Status check_races(const Lowered& lowered) {
  ETCH_TRY(check_list(lowered.decode, "decode"));
  return check_list(lowered.prefill, "prefill");
}

}  // namespace etch
