#include "session/kv_pool.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "session/red_zone.h"

namespace etch {

int64_t pages_of_state(const State& s, const Limits& limits) {
  // A recurrent state: the one that stands and the one a step writes, which replaces it when the
  // step has succeeded.
  if (s.kind == State::Kind::memory) return 2;
  const int64_t all = (limits.n_ctx + ETCH_PAGE_POSITIONS - 1) / ETCH_PAGE_POSITIONS;
  if (s.window <= 0 || s.window >= limits.n_ctx) return all;
  // The first row of a step sees window - 1 positions before itself; a span of n positions touches
  // at most (n - 2) / 128 + 2 pages, wherever it begins.
  const int64_t span = s.window - 1 + std::max(limits.n_rows, int64_t{ETCH_DECODE_ROWS});
  return std::min(all, (std::max<int64_t>(span, 2) - 2) / ETCH_PAGE_POSITIONS + 2);
}

KvLayout lay_out_kv(const Lowered& lowered, int64_t budget_bytes, bool guard) {
  KvLayout layout;
  int64_t one_sequence = 0;
  for (const State& s : lowered.states) {
    const int64_t page_bytes =
        round_up(s.kind == State::Kind::memory ? s.bytes : s.page_bytes, kAlignment);
    auto same = std::find_if(layout.classes.begin(), layout.classes.end(),
                             [&](const auto& c) { return c.page_bytes == page_bytes; });
    if (same == layout.classes.end()) {
      same = layout.classes.insert(same, {.page_bytes = page_bytes});
    }
    layout.class_of_state.push_back(static_cast<int32_t>(same - layout.classes.begin()));
    const int64_t n = pages_of_state(s, lowered.limits);
    same->n_pages += n;
    one_sequence += n * page_bytes;
  }
  if (budget_bytes > 0 && one_sequence > 0) {
    // Shares stay as one sequence has them: what runs out first would be wasted elsewhere.
    const double factor = static_cast<double>(budget_bytes) / static_cast<double>(one_sequence);
    for (auto& c : layout.classes) {
      c.n_pages =
          std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(c.n_pages) * factor));
    }
  }
  for (auto& c : layout.classes) {
    const int64_t zone = guard ? kRedZone : 0;
    c.offset = layout.bytes + zone;
    c.stride = c.page_bytes + zone;
    layout.bytes = c.offset + c.n_pages * c.stride;
  }
  layout.bytes = round_up(layout.bytes, kMapGranule);
  return layout;
}

Result<KvPool> KvPool::create(const Lowered& lowered, int64_t budget_bytes, bool guard) {
  KvPool pool;
  pool.guard_ = guard;
  pool.layout_ = lay_out_kv(lowered, budget_bytes, guard);
  pool.memory_ = ETCH_TRY(AnonymousMemory::map(pool.layout_.bytes, "keys and values"));
  for (const auto& c : pool.layout_.classes) {
    Pages pages;
    pages.owners.assign(static_cast<size_t>(c.n_pages), 0);
    for (int64_t i = c.n_pages - 1; i >= 0; --i) pages.free.push_back(static_cast<int32_t>(i));
    pool.pages_.push_back(std::move(pages));
  }
  return pool;
}

size_t KvPool::page_index(int32_t state, const uint8_t* page) const {
  const auto& c =
      layout_.classes[static_cast<size_t>(layout_.class_of_state[static_cast<size_t>(state)])];
  const int64_t at = page - memory_.data() - c.offset;
  ETCH_CHECK(at >= 0 && at % c.stride == 0 && at / c.stride < c.n_pages, "state {}: no page at {}",
             state, at);
  return static_cast<size_t>(at / c.stride);
}

uint8_t* KvPool::allocate(int32_t state) {
  const auto k = static_cast<size_t>(layout_.class_of_state[static_cast<size_t>(state)]);
  Pages& pages = pages_[k];
  if (pages.free.empty()) return nullptr;
  const int32_t i = pages.free.back();
  pages.free.pop_back();
  pages.owners[static_cast<size_t>(i)] = 1;
  const KvLayout::Class& c = layout_.classes[k];
  uint8_t* page = memory_.data() + c.offset + i * c.stride;
  if (guard_) std::memset(page - kRedZone, kDead, static_cast<size_t>(c.page_bytes + 2 * kRedZone));
  return page;
}

void KvPool::retain(int32_t state, uint8_t* page) {
  const auto k = static_cast<size_t>(layout_.class_of_state[static_cast<size_t>(state)]);
  ++pages_[k].owners[page_index(state, page)];
}

void KvPool::release(int32_t state, uint8_t* page) {
  const auto k = static_cast<size_t>(layout_.class_of_state[static_cast<size_t>(state)]);
  const size_t i = page_index(state, page);
  ETCH_CHECK(pages_[k].owners[i] > 0, "page {} of state {} is free", i, state);
  if (--pages_[k].owners[i] == 0) pages_[k].free.push_back(static_cast<int32_t>(i));
}

bool KvPool::is_shared(int32_t state, const uint8_t* page) const {
  const auto k = static_cast<size_t>(layout_.class_of_state[static_cast<size_t>(state)]);
  return pages_[k].owners[page_index(state, page)] > 1;
}

int64_t KvPool::free_pages(int32_t state) const {
  const auto k = static_cast<size_t>(layout_.class_of_state[static_cast<size_t>(state)]);
  return static_cast<int64_t>(pages_[k].free.size());
}

int64_t KvPool::page_bytes(int32_t state) const {
  return layout_.classes[static_cast<size_t>(layout_.class_of_state[static_cast<size_t>(state)])]
      .page_bytes;
}

}  // namespace etch
