// Sequence: what a session keeps of one text: its tokens, and for every state a table of pages.
//
//   state 0 (all positions)   [ p0 | p1 | p2 | .. ]      entry b: positions 128 b .. 128 b + 127
//   state 1 (a window)        [ -- | p1 | p2 | .. ]      --: let go of, nothing can see it any more
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "lowered/lowered.h"
#include "session/kv_pool.h"

namespace etch {

class Sequence {
 public:
  // Tables are made for n_ctx positions at once, so that a step never allocates.
  Sequence(const Lowered& lowered, KvPool& pool);
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;
  ~Sequence();

  int64_t length() const { return static_cast<int64_t>(tokens_.size()); }
  std::span<const int32_t> tokens() const { return tokens_; }
  uint8_t* const* table(int32_t state) const { return tables_[static_cast<size_t>(state)].data(); }

  // Makes room for `count` more positions: pages for them, none of them shared. On failure nothing
  // has changed.
  Status prepare(int64_t count);
  void commit(std::span<const int32_t> tokens);  // the step has succeeded; windows let go
  void roll_back();                              // it has not: pages made by prepare() go back

  // May it go back to n positions? Windows may have let go of what would be seen again.
  bool can_truncate(int64_t n_positions) const;
  void truncate(int64_t n_positions);
  void share(const Sequence& from, int64_t n_positions);  // for an empty one

  void save(std::vector<uint8_t>& out) const;
  Status restore(std::span<const uint8_t> saved);

 private:
  const State& state(size_t s) const { return lowered_->states[s]; }
  int64_t first_seen_page(size_t s, int64_t length) const;  // by the next row
  // The pages that a sequence of that length needs: first and one past the last.
  std::pair<int64_t, int64_t> kept_pages(size_t s, int64_t length) const;
  void drop(size_t s, int64_t page);
  void forget();  // all pages and tokens

  const Lowered* lowered_;
  KvPool* pool_;
  std::vector<int32_t> tokens_;
  std::vector<std::vector<uint8_t*>> tables_;  // of each state; null where there is no page
  std::vector<uint8_t*> before_;  // of each recurrent state: what the step at work replaces
};

}  // namespace etch
