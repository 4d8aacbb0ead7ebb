// Merging of neighbours, the heart of SPM and BPE: among all neighbouring symbols whose joined text
// may be one symbol, join the pair of lowest rank, the leftmost of equals, until there is none.
//
//   symbols   l o w e r      ranks of pairs   lo:3 ow:9 we:- er:1
//         ->  l o w er       ->               lo:3 ow:9 wer:-
//         ->  lo w er        ...
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace etch {

struct MergeSymbol {
  uint32_t begin = 0;  // of its bytes; it ends where the next one begins
  int32_t id = -1;     // -1: the text is no token (yet)
};

struct Merged {
  static constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();
  uint32_t rank = kNever;
  int32_t id = -1;
};

// Memory that long words leave behind for the next one.
struct MergeScratch {
  std::vector<uint32_t> ranks;          // of the pair that begins at a symbol
  std::vector<int32_t> products;        // and what it becomes
  std::vector<int32_t> previous, next;  // neighbours, -1 at the ends
  std::vector<uint64_t> heap;           // [ rank : 32 | left symbol : 32 ], smallest first
};

namespace merge_detail {

// Up to this many symbols a scan for the smallest rank beats a queue: they fit a few cache lines
// and most words are much shorter.
inline constexpr size_t kScanned = 48;

template <class Lookup>
void merge_scanning(std::vector<MergeSymbol>& symbols, uint32_t end, const Lookup& lookup) {
  uint32_t ranks[kScanned];
  int32_t products[kScanned];
  size_t n = symbols.size();
  const auto end_of = [&](size_t i) { return i + 1 < n ? symbols[i + 1].begin : end; };
  const auto look = [&](size_t i) {
    const Merged m = i + 1 < n ? lookup(symbols[i], symbols[i + 1], end_of(i + 1)) : Merged{};
    ranks[i] = m.rank, products[i] = m.id;
  };
  for (size_t i = 0; i < n; ++i) look(i);
  while (n > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < n; ++i) {
      if (ranks[i] < ranks[best]) best = i;
    }
    if (ranks[best] == Merged::kNever) break;
    symbols[best].id = products[best];
    const size_t moved = n - best - 2;
    std::memmove(&symbols[best + 1], &symbols[best + 2], moved * sizeof(MergeSymbol));
    std::memmove(&ranks[best + 1], &ranks[best + 2], moved * sizeof(uint32_t));
    std::memmove(&products[best + 1], &products[best + 2], moved * sizeof(int32_t));
    --n;
    look(best);
    if (best > 0) look(best - 1);
  }
  symbols.resize(n);
}

// A queue whose entries may be out of date: one counts only while the pair at its symbol still has
// its rank.
template <class Lookup>
void merge_queued(std::vector<MergeSymbol>& symbols, uint32_t end, const Lookup& lookup,
                  MergeScratch& scratch) {
  const int32_t n = static_cast<int32_t>(symbols.size());
  scratch.ranks.assign(symbols.size(), Merged::kNever);
  scratch.products.assign(symbols.size(), -1);
  scratch.previous.resize(symbols.size());
  scratch.next.resize(symbols.size());
  scratch.heap.clear();
  for (int32_t i = 0; i < n; ++i) {
    scratch.previous[i] = i - 1;
    scratch.next[i] = i + 1 < n ? i + 1 : -1;
  }
  auto& heap = scratch.heap;
  const auto look = [&](int32_t i, bool queue) {
    const int32_t right = scratch.next[i];
    Merged m;
    if (right >= 0) {
      const int32_t after = scratch.next[right];
      m = lookup(symbols[i], symbols[right], after >= 0 ? symbols[after].begin : end);
    }
    scratch.ranks[i] = m.rank, scratch.products[i] = m.id;
    if (m.rank == Merged::kNever) return;
    heap.push_back(static_cast<uint64_t>(m.rank) << 32 | static_cast<uint32_t>(i));
    if (queue) std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };
  for (int32_t i = 0; i < n; ++i) look(i, false);
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const uint64_t entry = heap.back();
    heap.pop_back();
    const int32_t left = static_cast<int32_t>(entry & 0xFFFFFFFFu);
    if (scratch.ranks[left] != entry >> 32) continue;
    const int32_t right = scratch.next[left], after = scratch.next[right];
    symbols[left].id = scratch.products[left];
    scratch.ranks[right] = Merged::kNever;
    scratch.previous[right] = -2;  // merged away
    scratch.next[left] = after;
    if (after >= 0) scratch.previous[after] = left;
    look(left, true);
    if (scratch.previous[left] >= 0) look(scratch.previous[left], true);
  }
  size_t kept = 0;
  for (int32_t i = 0; i >= 0; i = scratch.next[i]) symbols[kept++] = symbols[i];
  symbols.resize(kept);
}

}  // namespace merge_detail

// lookup(left, right, end of right) -> Merged. `end` is where the last symbol ends.
template <class Lookup>
void merge_symbols(std::vector<MergeSymbol>& symbols, uint32_t end, const Lookup& lookup,
                   MergeScratch& scratch) {
  if (symbols.size() <= merge_detail::kScanned) {
    merge_detail::merge_scanning(symbols, end, lookup);
  } else {
    merge_detail::merge_queued(symbols, end, lookup, scratch);
  }
}

}  // namespace etch
