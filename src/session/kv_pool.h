// KvPool: the memory of all states of all sequences, in pages out of one mapping that is reserved
// when a session is made and touched as pages are used. A page of a cache holds 128 positions of
// keys and values; a recurrent state is one page.
//
//   [ pages of class 0: 0 1 2 ... | pages of class 1: 0 1 2 ... ]      a class: states whose pages
//   have one size
//
// Pages are counted: sequences that begin alike share them, and who writes to a shared page copies
// it first.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "lowered/lowered.h"
#include "session/anonymous_memory.h"

namespace etch {

// How many pages of which size; part of the memory plan.
struct KvLayout {
  struct Class {
    int64_t page_bytes = 0;
    int64_t n_pages = 0;
    int64_t offset = 0;  // of its first page in the mapping
    int64_t stride = 0;  // from one page to the next; with a guard, red zones lie between them
  };
  std::vector<Class> classes;
  std::vector<int32_t> class_of_state;
  int64_t bytes = 0;  // of the mapping
};

// Pages that state `s` of one sequence may need at once: all of n_ctx, or what a window and the
// rows of a step span.
int64_t pages_of_state(const State& s, const Limits& limits);
KvLayout lay_out_kv(const Lowered& lowered, int64_t budget_bytes, bool guard);

class KvPool {
 public:
  // With a guard a new page holds NaN and has a red zone on either side.
  static Result<KvPool> create(const Lowered& lowered, int64_t budget_bytes, bool guard);

  uint8_t* allocate(
      int32_t state);  // a page for that state with one owner; null when there is none left
  void retain(int32_t state, uint8_t* page);
  void release(int32_t state, uint8_t* page);  // the last owner frees it
  bool is_shared(int32_t state, const uint8_t* page) const;
  int64_t free_pages(int32_t state) const;
  int64_t page_bytes(int32_t state) const;
  const KvLayout& layout() const { return layout_; }

 private:
  struct Pages {
    std::vector<int32_t> owners;  // of each page
    std::vector<int32_t> free;  // a stack: pages used before come first, so that fewer are touched
  };
  size_t page_index(int32_t state, const uint8_t* page) const;

  bool guard_ = false;
  KvLayout layout_;
  AnonymousMemory memory_;
  std::vector<Pages> pages_;  // of each class
};

}  // namespace etch
