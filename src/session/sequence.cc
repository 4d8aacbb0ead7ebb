#include "session/sequence.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace etch {
namespace {

constexpr int64_t kPage = ETCH_PAGE_POSITIONS;
constexpr int64_t pages_of(int64_t n_positions) { return (n_positions + kPage - 1) / kPage; }

}  // namespace

Sequence::Sequence(const Lowered& lowered, KvPool& pool) : lowered_(&lowered), pool_(&pool) {
  tokens_.reserve(static_cast<size_t>(lowered.limits.n_ctx));
  for (const State& s : lowered.states) {
    const int64_t n = s.kind == State::Kind::memory ? 1 : pages_of(lowered.limits.n_ctx);
    tables_.emplace_back(static_cast<size_t>(n), nullptr);
  }
  before_.assign(lowered.states.size(), nullptr);
}

Sequence::~Sequence() { forget(); }

void Sequence::drop(size_t s, int64_t page) {
  uint8_t*& p = tables_[s][static_cast<size_t>(page)];
  if (p) pool_->release(static_cast<int32_t>(s), p);
  p = nullptr;
}

int64_t Sequence::first_seen_page(size_t s, int64_t length) const {
  const int64_t window = state(s).window;
  return window <= 0 ? 0 : std::max<int64_t>(0, length - window + 1) / kPage;
}

std::pair<int64_t, int64_t> Sequence::kept_pages(size_t s, int64_t length) const {
  if (state(s).kind == State::Kind::memory) return {0, length > 0 ? 1 : 0};
  return {first_seen_page(s, length), pages_of(length)};
}

void Sequence::forget() {
  for (size_t s = 0; s < tables_.size(); ++s) {
    for (size_t b = 0; b < tables_[s].size(); ++b) drop(s, static_cast<int64_t>(b));
  }
  tokens_.clear();
}

Status Sequence::prepare(int64_t count) {
  const auto full = [&](size_t s) -> Status {
    roll_back();
    return fail(
        ErrorKind::resources,
        "no page is left for state '{}': all {} are in use\n  remove a sequence, or give the "
        "session more memory for keys and values",
        state(s).name, pool_->layout().classes[pool_->layout().class_of_state[s]].n_pages);
  };
  for (size_t s = 0; s < tables_.size(); ++s) {
    const auto id = static_cast<int32_t>(s);
    const auto bytes = static_cast<size_t>(pool_->page_bytes(id));
    if (state(s).kind == State::Kind::memory) {
      // The step works on a copy; the original stays until it has succeeded.
      uint8_t* copy = pool_->allocate(id);
      if (!copy) return full(s);
      before_[s] = tables_[s][0];
      if (before_[s]) {
        std::memcpy(copy, before_[s], bytes);
      } else {
        std::memset(copy, 0, bytes);
      }
      tables_[s][0] = copy;
      continue;
    }
    // The page that the first new position falls into may be shared with a sequence that began
    // alike.
    if (uint8_t*& page = tables_[s][static_cast<size_t>(length() / kPage)];
        page && pool_->is_shared(id, page)) {
      uint8_t* copy = pool_->allocate(id);
      if (!copy) return full(s);
      std::memcpy(copy, page, bytes);
      pool_->release(id, page);
      page = copy;
    }
    for (int64_t b = length() / kPage; b < pages_of(length() + count); ++b) {
      uint8_t*& page = tables_[s][static_cast<size_t>(b)];
      if (page) continue;
      page = pool_->allocate(id);
      if (!page) return full(s);
    }
  }
  return {};
}

void Sequence::commit(std::span<const int32_t> tokens) {
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  for (size_t s = 0; s < tables_.size(); ++s) {
    if (before_[s]) pool_->release(static_cast<int32_t>(s), before_[s]);
    before_[s] = nullptr;
    if (state(s).kind == State::Kind::memory) continue;
    for (int64_t b = first_seen_page(s, length()) - 1; b >= 0; --b) {
      if (!tables_[s][static_cast<size_t>(b)]) break;  // the earlier ones went before
      drop(s, b);
    }
  }
}

void Sequence::roll_back() {
  for (size_t s = 0; s < tables_.size(); ++s) {
    if (state(s).kind == State::Kind::memory) {
      // With nothing written yet there is no original: a state before the first step is null.
      if (before_[s] || length() == 0) {
        drop(s, 0);
        tables_[s][0] = before_[s];
      }
      before_[s] = nullptr;
      continue;
    }
    for (auto b = static_cast<size_t>(pages_of(length())); b < tables_[s].size(); ++b) {
      if (!tables_[s][b]) break;
      drop(s, static_cast<int64_t>(b));
    }
  }
}

bool Sequence::can_truncate(int64_t n_positions) const {
  if (n_positions < 0 || n_positions > length()) return false;
  if (n_positions == 0 || n_positions == length()) return true;
  for (size_t s = 0; s < tables_.size(); ++s) {
    if (state(s).kind == State::Kind::memory) return false;  // there is no way back
    const auto [first, last] = kept_pages(s, n_positions);
    for (int64_t b = first; b < last; ++b) {
      if (!tables_[s][static_cast<size_t>(b)]) return false;
    }
  }
  return true;
}

void Sequence::truncate(int64_t n_positions) {
  ETCH_CHECK(can_truncate(n_positions), "{} of {} positions", n_positions, length());
  for (size_t s = 0; s < tables_.size(); ++s) {
    if (state(s).kind == State::Kind::memory) {
      if (n_positions == 0) drop(s, 0);
      continue;
    }
    for (int64_t b = pages_of(n_positions); b < static_cast<int64_t>(tables_[s].size()); ++b)
      drop(s, b);
  }
  tokens_.resize(static_cast<size_t>(n_positions));
}

void Sequence::share(const Sequence& from, int64_t n_positions) {
  ETCH_CHECK(length() == 0 && from.can_truncate(n_positions), "{} of {} positions", n_positions,
             from.length());
  for (size_t s = 0; s < tables_.size() && n_positions > 0; ++s) {
    const int64_t n = state(s).kind == State::Kind::memory ? 1 : pages_of(n_positions);
    for (int64_t b = 0; b < n; ++b) {
      uint8_t* page = from.tables_[s][static_cast<size_t>(b)];
      if (page) pool_->retain(static_cast<int32_t>(s), page);
      tables_[s][static_cast<size_t>(b)] = page;
    }
  }
  tokens_.assign(from.tokens_.begin(), from.tokens_.begin() + n_positions);
}

}  // namespace etch
