// Where everything of a session but its pages of keys and values stands: one anonymous mapping,
// laid out as the plan says.
//
//   [ constants | inputs | outputs | arena | thread 0 | thread 1 | ... ]      each part a multiple
//   of 4096 bytes
//
// With a guard every buffer gets a place of its own with red zones around it (guard.h), in parts
// that are larger.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "lowered/lowered.h"
#include "session/anonymous_memory.h"

namespace etch {

struct ArenaLayout {
  struct Part {
    int64_t offset = 0;  // in the mapping
    int64_t bytes = 0;
  };
  Part constants, inputs, outputs, arena;
  Part thread;  // of thread 0; thread i follows thread.bytes * i later
  int32_t n_threads = 1;
  int64_t bytes = 0;  // of the mapping
  // With a guard: where buffer b begins in its part. Empty without.
  std::vector<int64_t> moved;

  const Part& part(Space space) const;
};
ArenaLayout lay_out_arena(const Lowered& lowered, int32_t n_threads, bool guard);

class Arena {
 public:
  static Result<Arena> create(const Lowered& lowered, std::span<const uint8_t> file,
                              int32_t n_threads, bool guard);

  // The address a call of thread `thread` finds behind a place; null for none.
  uint8_t* resolve(const Place& place, int32_t thread) const;
  uint8_t* buffer(int32_t buffer, int32_t thread = 0) const;
  uint8_t* part(Space space, int32_t thread = 0) const;
  const ArenaLayout& layout() const { return layout_; }

 private:
  const Lowered* lowered_ = nullptr;
  const uint8_t* file_ = nullptr;
  ArenaLayout layout_;
  AnonymousMemory memory_;
};

}  // namespace etch
