#include "session/guard.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "session/red_zone.h"

namespace etch {
namespace {

constexpr int64_t kZone = kRedZone;
constexpr std::array kGuarded = {Space::arena, Space::thread, Space::input, Space::output};

// Inputs and outputs live as long as the caller may look at them; others from their first call to
// their last.
bool whole_step(const Buffer& b) {
  return b.space == Space::input || b.space == Space::output || b.first_call < 0 || b.last_call < 0;
}

bool lives_meet(const Buffer& a, const Buffer& b) {
  if (is_per_list(a.space) && a.prefill != b.prefill) return false;
  if (whole_step(a) || whole_step(b)) return true;
  return a.first_call <= b.last_call && b.first_call <= a.last_call;
}

int64_t guarded_bytes(const Buffer& b) {
  return round_up(std::max<int64_t>(b.bytes, 1), kAlignment);
}

int64_t page_bytes(const State& s) {
  return round_up(s.kind == State::Kind::memory ? s.bytes : s.page_bytes, kAlignment);
}

// f(state, run, index, page) for every page that a step may see.
template <class F>
void each_page(const Lowered& lowered, const etch_step& step, F f) {
  for (size_t s = 0; s < lowered.states.size(); ++s) {
    for (int32_t r = 0; r < step.n_runs; ++r) {
      const etch_run& run = step.runs[r];
      uint8_t* const* table = step.states[static_cast<int32_t>(s) * step.n_runs + r];
      const int64_t end = int64_t{run.first_position} + run.count;
      const int64_t n = lowered.states[s].kind == State::Kind::memory
                            ? 1
                            : (end + ETCH_PAGE_POSITIONS - 1) / ETCH_PAGE_POSITIONS;
      for (int64_t b = 0; b < n; ++b) {
        if (table[b]) f(s, run, b, table[b]);
      }
    }
  }
}

// Differs if any one byte does.
uint64_t sum_of(const uint8_t* bytes, int64_t n) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum = (sum ^ bytes[i]) * 0x100000001b3u;  // FNV-1a
  return sum;
}

}  // namespace

GuardPlaces place_with_red_zones(const Lowered& lowered) {
  GuardPlaces places;
  places.offsets.assign(lowered.buffers.size(), 0);
  for (Space space : kGuarded) {
    std::vector<size_t> placed;
    int64_t end = kZone;
    for (size_t i = 0; i < lowered.buffers.size(); ++i) {
      const Buffer& b = lowered.buffers[i];
      if (b.space != space) continue;
      // First fit above all placed buffers whose lives meet b's, in ascending order of their
      // places.
      std::vector<size_t> rivals;
      for (size_t j : placed) {
        if (lives_meet(b, lowered.buffers[j])) rivals.push_back(j);
      }
      std::sort(rivals.begin(), rivals.end(),
                [&](size_t x, size_t y) { return places.offsets[x] < places.offsets[y]; });
      int64_t at = kZone;
      for (size_t j : rivals) {
        if (at + guarded_bytes(b) + kZone <= places.offsets[j]) break;
        at = std::max(at, places.offsets[j] + guarded_bytes(lowered.buffers[j]) + kZone);
      }
      places.offsets[i] = at;
      placed.push_back(i);
      end = std::max(end, at + guarded_bytes(b) + kZone);
    }
    const int64_t bytes = placed.empty() ? 0 : end;
    if (space == Space::arena) places.arena_bytes = bytes;
    if (space == Space::thread) places.thread_bytes = bytes;
    if (space == Space::input) places.input_bytes = bytes;
    if (space == Space::output) places.output_bytes = bytes;
  }
  return places;
}

Guard::Guard(const Lowered& lowered, const Arena& arena) : lowered_(&lowered), arena_(&arena) {}

bool Guard::is_live(const Buffer& b, int32_t call) const {
  if (is_per_list(b.space) && b.prefill != prefill_) return false;
  return whole_step(b) || (b.first_call <= call && call <= b.last_call);
}

// Merged ranges of the live buffers of a part, ascending. `whole`: as planned for the largest step;
// else as far as this step's rows reach.
std::vector<Guard::Live> Guard::live_ranges(Space space, int32_t call, bool whole) const {
  std::vector<Live> live;
  for (size_t i = 0; i < lowered_->buffers.size(); ++i) {
    const Buffer& b = lowered_->buffers[i];
    if (b.space != space || !is_live(b, call)) continue;
    const int64_t begin = arena_->layout().moved[i];
    const int64_t used = whole ? b.bytes : std::min(b.bytes, b.size.at(n_rows_, n_outputs_));
    live.push_back({begin, begin + used});
  }
  std::sort(live.begin(), live.end(),
            [](const Live& a, const Live& b) { return a.begin < b.begin; });
  return live;
}

void Guard::begin(bool prefill, const etch_step& step) {
  prefill_ = prefill;
  n_rows_ = step.n_rows;
  n_outputs_ = step.n_outputs;
  step_ = &step;
  finding_.reset();
  fill_with_dead();
  full_pages_.clear();
  each_page(*lowered_, step, [&](size_t s, const etch_run& run, int64_t b, const uint8_t* page) {
    const State& state = lowered_->states[s];
    if (state.kind != State::Kind::cache || (b + 1) * ETCH_PAGE_POSITIONS > run.first_position)
      return;
    full_pages_.push_back({s, b * ETCH_PAGE_POSITIONS, page, sum_of(page, state.page_bytes)});
  });
}

void Guard::after_step() {
  for (const FullPage& p : full_pages_) {
    const State& state = lowered_->states[p.state];
    if (finding_ || sum_of(p.page, state.page_bytes) == p.sum) continue;
    finding_ = fmt::format(
        "guard: the step changed what state '{}' holds of positions {} to {}, which it only reads",
        state.name, p.first_position, p.first_position + ETCH_PAGE_POSITIONS - 1);
  }
}

void Guard::check_pages(int32_t call) {
  each_page(*lowered_, *step_, [&](size_t s, const etch_run& run, int64_t b, const uint8_t* page) {
    const State& state = lowered_->states[s];
    const int64_t bytes = page_bytes(state);
    for (int64_t i = 0; i < kZone && !finding_; ++i) {
      const bool before = page[i - kZone] != kDead, behind = page[bytes + i] != kDead;
      if (!before && !behind) continue;
      const Call& c =
          (prefill_ ? lowered_->prefill : lowered_->decode).calls[static_cast<size_t>(call)];
      finding_ = fmt::format(
          "guard: call {} ({}) wrote where it should not: {} bytes {} page {} of state '{}', "
          "sequence {}\n  node n{}, {}\n  {}",
          call, c.kernel->name, before ? kZone - i : i, before ? "before" : "behind the end of", b,
          state.name, run.sequence, c.origin.node, c.origin.location, c.origin.what);
    }
  });
}

void Guard::fill_with_dead() {
  const ArenaLayout& layout = arena_->layout();
  for (int32_t t = 0; t < layout.n_threads; ++t) {
    std::memset(arena_->part(Space::thread, t), kDead, static_cast<size_t>(layout.thread.bytes));
  }
  std::memset(arena_->part(Space::arena), kDead, static_cast<size_t>(layout.arena.bytes));
  std::memset(arena_->part(Space::output), kDead, static_cast<size_t>(layout.outputs.bytes));
  // Inputs are the caller's: all but their buffers is filled.
  int64_t at = 0;
  uint8_t* inputs = arena_->part(Space::input);
  for (const Live& l : live_ranges(Space::input, 0, true)) {
    std::memset(inputs + at, kDead, static_cast<size_t>(l.begin - at));
    at = l.end;
  }
  std::memset(inputs + at, kDead, static_cast<size_t>(layout.inputs.bytes - at));
}

void Guard::after_call(int32_t call) {
  if (finding_) return;
  const int32_t n_threads = arena_->layout().n_threads;
  for (Space space : kGuarded) {
    for (int32_t t = 0; t < (space == Space::thread ? n_threads : 1); ++t) check(space, t, call);
  }
  check_pages(call);
  for (size_t i = 0; i < lowered_->buffers.size(); ++i) {
    const Buffer& b = lowered_->buffers[i];
    if (whole_step(b) || b.prefill != prefill_ || b.last_call != call) continue;
    for (int32_t t = 0; t < (b.space == Space::thread ? n_threads : 1); ++t) {
      std::memset(arena_->buffer(static_cast<int32_t>(i), t), kDead, static_cast<size_t>(b.bytes));
    }
  }
}

void Guard::check(Space space, int32_t thread, int32_t call) {
  const uint8_t* base = arena_->part(space, thread);
  int64_t at = 0;
  const auto expect_dead = [&](int64_t end) {
    for (; at < end && !finding_; ++at) {
      if (at % 8 == 0 && at + 8 <= end) {  // eight bytes at once where they are untouched
        uint64_t word;
        std::memcpy(&word, base + at, sizeof word);
        if (word == std::numeric_limits<uint64_t>::max()) {
          at += 7;
          continue;
        }
      }
      if (base[at] != kDead) finding_ = describe(space, at, call);
    }
  };
  for (const Live& l : live_ranges(space, call, false)) {
    expect_dead(l.begin);
    at = std::max(at, l.end);
  }
  expect_dead(arena_->layout().part(space).bytes);
}

std::string Guard::describe(Space space, int64_t offset, int32_t call) const {
  const CallList& list = prefill_ ? lowered_->prefill : lowered_->decode;
  const Call& c = list.calls[static_cast<size_t>(call)];
  std::string where = "a red zone";
  for (size_t i = 0; i < lowered_->buffers.size(); ++i) {
    const Buffer& b = lowered_->buffers[i];
    const int64_t begin = arena_->layout().moved[i];
    if (b.space != space || (is_per_list(space) && b.prefill != prefill_)) continue;
    if (offset >= begin && offset < begin + b.bytes) {
      where = fmt::format("byte {} of '{}' (alive in calls {} to {}, {} bytes in this step)",
                          offset - begin, b.name, b.first_call, b.last_call,
                          b.size.at(n_rows_, n_outputs_));
      break;
    }
    if (offset >= begin + b.bytes && offset < begin + guarded_bytes(b) + kZone) {
      where = fmt::format("{} bytes behind the end of '{}'", offset - begin - b.bytes, b.name);
    } else if (offset < begin && offset >= begin - kZone && where == "a red zone") {
      where = fmt::format("{} bytes before '{}'", begin - offset, b.name);
    }
  }
  return fmt::format(
      "guard: call {} ({}) wrote where it should not: {} of the {} memory\n  node n{}, {}\n  {}",
      call, c.kernel->name, where, name(space), c.origin.node, c.origin.location, c.origin.what);
}

}  // namespace etch
