// Guard: `--guard` of every verb that runs a model. Whatever no live buffer covers holds NaN (all
// bits set): the red zones between buffers, buffers not written yet, buffers nobody needs any more.
// So a call that reads what it should not spreads NaN, which the next quantisation reports, and a
// call that writes where it should not is named, with the place.
//
//   | zone | q: calls 3-9 | zone | scores: calls 5-6 | zone | ...      after call 6: | zone | q |
//   zone | NaN | zone |
//
// Pages of states stand between red zones too, and begin as NaN; those that were full before a step
// must come out of it unchanged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lowered/lowered.h"
#include "session/arena.h"

namespace etch {

// Places of all buffers with red zones around them. Buffers whose lives do not meet may share a
// place.
struct GuardPlaces {
  std::vector<int64_t> offsets;  // of each buffer in its part
  int64_t arena_bytes = 0, thread_bytes = 0, input_bytes = 0, output_bytes = 0;
};
GuardPlaces place_with_red_zones(const Lowered& lowered);

class Guard {
 public:
  Guard(const Lowered& lowered, const Arena& arena);

  void begin(bool prefill, const etch_step& step);
  // After call `call` of the list, by one thread while the others wait. Remembers the first
  // finding.
  void after_call(int32_t call);
  void after_step();
  const std::optional<std::string>& finding() const { return finding_; }

 private:
  struct Live {
    int64_t begin, end;
  };
  struct FullPage {
    size_t state;
    int64_t first_position;
    const uint8_t* page;
    uint64_t sum;
  };
  bool is_live(const Buffer& buffer, int32_t call) const;
  std::vector<Live> live_ranges(Space space, int32_t call, bool whole) const;
  void check(Space space, int32_t thread, int32_t call);
  void check_pages(int32_t call);
  void fill_with_dead();
  std::string describe(Space space, int64_t offset, int32_t call) const;

  const Lowered* lowered_;
  const Arena* arena_;
  bool prefill_ = false;
  int64_t n_rows_ = 0, n_outputs_ = 0;
  const etch_step* step_ = nullptr;
  std::vector<FullPage> full_pages_;
  std::optional<std::string> finding_;
};

}  // namespace etch
