// How attention is cut into items (kernels/ops/attend.h), as a function of sizes and the number of
// threads alone:
//
//   a run of several rows   an item per kv head and query tile of at most tile_rows rows
//   a run of one row        an item per kv head; where that leaves threads idle, one per kv head
//                           and block of 128 positions, whose results lie in `partials` until
//                           attend_merge joins them
//
// Both kinds are spread evenly over the items, and a head's tiles are taken from both ends in turn,
// because the last ones see the most positions: a thread's share of consecutive items is then about
// as long as any other's. Internal linkage: read by the registry and by kernels of every
// instruction set.
#pragma once

#include <cstdint>

#include "etch/model_abi.h"

namespace etch::attend_work {

static constexpr int64_t kBlock = ETCH_PAGE_POSITIONS;
static constexpr int64_t kLanes = ETCH_PARTIAL_SUMS;
// Query columns (rows x heads of the group) of a tile: enough that converting K and V costs 1-2 %
// (96 columns: 3 %), and few enough that short runs give every thread some.
static constexpr int64_t kMostColumns = 192, kLeastColumns = 24;

static constexpr int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static constexpr int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static constexpr int64_t padded(int64_t d) { return ceil_div(d, kLanes) * kLanes; }

// Query heads of kv head h are first_query_head(h) .. first_query_head(h + 1) - 1.
static constexpr int64_t first_query_head(const etch_attend& a, int64_t kv_head) {
  return ceil_div(kv_head * a.n_q, a.n_kv);
}
static constexpr int64_t group(const etch_attend& a) { return ceil_div(a.n_q, a.n_kv); }

// Positions that the query at `position` sees, of the run's available first .. last: an interval.
struct Interval {
  int64_t first, last;  // empty: last < first
};
static constexpr Interval visible(const etch_attend& a, int64_t position, Interval available) {
  Interval v = {available.first, a.full != 0 ? available.last : least(position, available.last)};
  if (a.window > 0) {
    v.first = most(v.first, position - (a.full != 0 ? a.window / 2 : a.window - 1));
    if (a.full != 0) v.last = least(v.last, position + a.window / 2);
  }
  if (a.chunk > 0) {
    const int64_t start = position / a.chunk * a.chunk;
    v.first = most(v.first, start);
    v.last = least(v.last, start + a.chunk - 1);
  }
  return v;
}
static constexpr Interval available(const etch_attend& a, const etch_run& run) {
  const int64_t end = int64_t{run.first_position} + run.count - 1;
  return {a.k.at == nullptr ? 0 : run.first_position, end};
}
static constexpr int64_t count_blocks(Interval v) {
  return v.last < v.first ? 0 : v.last / kBlock - v.first / kBlock + 1;
}

// Attention among the rows of a step has its K and V converted anyway: a run of one row is a tile
// of one row there.
static constexpr bool is_single(const etch_attend& a, const etch_run& run) {
  return a.k.at == nullptr && run.count == 1;
}
static constexpr int64_t blocks_of_single(const etch_attend& a, const etch_run& run) {
  return count_blocks(visible(a, run.first_position, available(a, run)));
}

struct Work {
  int64_t tile_rows = 1;
  int64_t tiles = 0;    // of all longer runs, per kv head
  int64_t singles = 0;  // runs of one row
  bool by_blocks = false;
  int64_t units = 0;  // per kv head: singles, or their blocks
  int64_t tile_items = 0, single_items = 0;
};

// Blocks are shared out when kv heads alone do not give every thread the same, nor several each.
static constexpr bool splits_blocks(int64_t singles, int64_t n_kv, int64_t n_threads) {
  return n_threads > 1 && n_kv % n_threads != 0 && singles * n_kv < 4 * n_threads;
}

static constexpr int64_t tile_rows(const etch_attend& a, int64_t rows, int64_t n_threads) {
  const int64_t g = group(a);
  const int64_t wanted = ceil_div(rows * a.n_kv, 4 * n_threads);
  return least(most(wanted, most(1, kLeastColumns / g)), most(1, kMostColumns / g));
}

// Tiles, or units, of one run for one kv head.
static constexpr int64_t pieces(const etch_attend& a, const Work& w, const etch_run& run,
                                bool tiles) {
  if (is_single(a, run) == tiles) return 0;
  return tiles ? ceil_div(run.count, w.tile_rows) : w.by_blocks ? blocks_of_single(a, run) : 1;
}

static inline Work count_work(const etch_attend& a, const etch_thread& thread) {
  const etch_step& step = *thread.step;
  Work w;
  int64_t rows = 0;
  for (int32_t r = 0; r < step.n_runs; ++r) {
    if (is_single(a, step.runs[r]))
      ++w.singles;
    else
      rows += step.runs[r].count;
  }
  w.tile_rows = tile_rows(a, rows, thread.count);
  w.by_blocks = splits_blocks(w.singles, a.n_kv, thread.count);
  for (int32_t r = 0; r < step.n_runs; ++r) {
    w.tiles += pieces(a, w, step.runs[r], true);
    w.units += pieces(a, w, step.runs[r], false);
  }
  w.tile_items = w.tiles * a.n_kv;
  w.single_items = w.units * a.n_kv;
  return w;
}

struct Unit {
  bool tile;
  int64_t kv_head;
  int64_t index;  // which tile, or which unit of the single rows
};
// The two kinds in even proportion: item i is a tile where the running count of tiles goes up.
static constexpr Unit unit_of_item(const Work& w, int64_t item) {
  const int64_t n = w.tile_items + w.single_items;
  const int64_t before = item * w.tile_items / n;
  if ((item + 1) * w.tile_items / n > before) {
    const int64_t i = before % w.tiles;
    return {true, before / w.tiles, i % 2 == 0 ? i / 2 : w.tiles - 1 - i / 2};
  }
  const int64_t single = item - before;
  return {false, single / w.units, single % w.units};
}

// A result of a block: [m, l, 14 unused][o: d_v, padded], for every single run, visible block and
// query head.
static constexpr int64_t partial_floats(int64_t d_v) { return kLanes + padded(d_v); }

// Scratch of a thread, in floats: see Scratch in kernels/ops/attend_block.h.
static constexpr int64_t kScratchColumns = 6;
static constexpr int64_t most_columns(const etch_attend& a) { return most(kMostColumns, group(a)); }
static constexpr int64_t scratch_floats(const etch_attend& a) {
  const int64_t columns = most_columns(a);
  return padded(columns * a.d_k) + 2 * padded(columns) + columns * padded(a.d_v)  // q, m, l, o
         + kBlock * a.d_k + kBlock * padded(a.d_v)                                // K, V
         + kScratchColumns * (kBlock + padded(a.d_v))                             // p, o of a block
         + (a.relative != nullptr ? padded(a.reach + 1) : 0);
}

}  // namespace etch::attend_work
