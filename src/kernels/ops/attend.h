// Attention of the rows of a step (arithmetic.md section 5), cut into items by attend_work.h.
//
//   a tile    some rows of a run x the heads of a group are columns; for each block, K and V become
//             float32 once, then 6 columns at a time: scores, probabilities, values, merge
//   one row   the heads of a group are columns; K and V are read where they are
//
// Both run the same chains over the same blocks, so they give the same bits.
#pragma once

#include "kernels/ops/attend_source.h"
#include "kernels/ops/rope.h"

namespace etch::ETCH_ISA {

// Rows row .. of a run, for the query heads of one kv head. Column c is row c / group, head
// first_head + c % group.
struct Columns {
  const etch_attend& a;
  const etch_run& run;
  int64_t row, n_rows, first_head, group;

  int64_t count() const { return n_rows * group; }
  int64_t query(int64_t r) const { return run.first_position + row + r; }
  float* at(const etch_view& v, int64_t r, int64_t head) const {
    return reinterpret_cast<float*>(v.at + (run.first_row + row + r) * v.row_stride +
                                    (first_head + head) * v.inner_stride);
  }
  const float* table() const { return a.table + (run.first_row + row) * 2 * a.pairs; }
  Interval seen(int64_t r) const {
    return attend_work::visible(a, query(r), attend_work::available(a, run));
  }
  // What rows first .. last see together: intervals move up with the row.
  Interval seen(int64_t first, int64_t last) const { return {seen(first).first, seen(last).last}; }
};

// f(c, row, head) for columns c .. c + n - 1.
template <class F>
ETCH_INLINE void for_columns(const Columns& columns, int64_t c, int64_t n, F f) {
  int64_t row = c / columns.group, head = c % columns.group;
  for (int64_t i = 0; i < n; ++i) {
    f(c + i, row, head);
    if (++head == columns.group) head = 0, ++row;
  }
}

// An interval of positions, as far as it lies in a block and counted from the block's start.
ETCH_INLINE Interval in_block(Interval v, int64_t block) {
  const int64_t start = block * kBlock;
  return {attend_work::most(v.first - start, 0), attend_work::least(v.last - start, kBlock - 1)};
}
ETCH_INLINE bool is_empty(Interval v) { return v.last < v.first; }

static inline void load_queries(const Columns& columns, const Scratch& s) {
  const etch_attend& a = columns.a;
  for_columns(columns, 0, columns.count(), [&](int64_t c, int64_t row, int64_t head) {
    const float* const q = columns.at(a.q, row, head);
    if (a.table != nullptr)
      turn(q, s.q + c * a.d_k, columns.table() + row * 2 * a.pairs, a.d_k, a.pairs, a.layout,
           false);
    else
      __builtin_memcpy(s.q + c * a.d_k, q, static_cast<size_t>(a.d_k) * 4);
    s.l[c] = 0;
  });
}

static inline void finish_columns(const Columns& columns, const Scratch& s) {
  const etch_attend& a = columns.a;
  for_columns(columns, 0, columns.count(), [&](int64_t c, int64_t row, int64_t head) {
    finish(a, columns.first_head + head, s.m[c], s.l[c], s.o + c * padded(a.d_v),
           columns.at(a.y, row, head));
  });
}

// Results of a block for columns c .. c + n - 1: m, l (0: nothing visible) and s.block_o.
template <class KvK, class KvV>
static inline void attend_columns(const Columns& columns, const Scratch& s, int64_t block,
                                  int64_t c, int64_t n, const typename KvK::Number* k,
                                  const typename KvV::Number* v, int64_t v_step, float* m,
                                  float* l) {
  const etch_attend& a = columns.a;
  const Interval seen =
      in_block(columns.seen(c / columns.group, (c + n - 1) / columns.group), block);
  for (int64_t i = 0; i < n; ++i) m[i] = l[i] = 0;
  if (is_empty(seen)) return;
  const int64_t first_word = seen.first / kFloats, last_word = seen.last / kFloats + 1;
  chains<KvK>(n, k,
              {kFloats, a.d_k * kFloats, s.q + c * a.d_k, a.d_k, s.p, kBlock, 0, a.d_k, first_word,
               last_word});
  bool blind[kColumns];  // columns that see nothing of what others see
  for_columns(columns, c, n, [&](int64_t column, int64_t row, int64_t head) {
    const int64_t i = column - c;
    const Interval own = in_block(columns.seen(row), block);
    blind[i] = is_empty(own);
    if (!blind[i])
      m[i] = block_scores(a, s, columns.first_head + head, columns.query(row), block * kBlock, own,
                          first_word, last_word, s.p + i * kBlock);
  });
  for (int64_t i = 0; i < n; ++i) {
    if (blind[i])
      __builtin_memset(s.p + i * kBlock, 0, kBlock * 4);
    else
      l[i] = block_exps(first_word, last_word, m[i], s.p + i * kBlock);
  }
  chains<KvV>(n, v,
              {v_step, kFloats, s.p, kBlock, s.block_o, padded(a.d_v), seen.first, seen.last + 1, 0,
               padded(a.d_v) / kFloats});
}

template <class Source>
static void attend_tile(const Source& source, const Columns& columns, const Scratch& s) {
  const etch_attend& a = columns.a;
  load_queries(columns, s);
  const int64_t count = columns.count(), o_step = padded(a.d_v);
  const Interval all = columns.seen(0, columns.n_rows - 1);
  for (int64_t block = all.first / kBlock; block <= all.last / kBlock && !is_empty(all); ++block) {
    const Interval seen = in_block(all, block);
    source.copy_keys(block, seen.first / kFloats, seen.last / kFloats + 1, s.k);
    source.copy_values(block, seen.first, seen.last + 1, s.v);
    for (int64_t c = 0; c < count; c += kColumns) {
      const int64_t n = count - c < kColumns ? count - c : kColumns;
      float m[kFloats], l[kFloats];
      attend_columns<kv_f32, kv_f32>(columns, s, block, c, n, s.k, s.v, o_step, m, l);
      merge_block(n, a.d_v, s.m + c, s.l + c, s.o + c * o_step, o_step, m, l, s.block_o, o_step);
    }
  }
  finish_columns(columns, s);
}

// Columns c .. c + n - 1 of one row: K and V are read where they are, unless they have scales, or
// rows of V that do not fill words.
template <class Kv>
static inline void attend_row_columns(const CachedBlocks<Kv>& source, const Columns& columns,
                                      const Scratch& s, int64_t block, int64_t c, int64_t n,
                                      float* m, float* l) {
  const etch_attend& a = columns.a;
  if constexpr (CachedBlocks<Kv>::kScaled) {
    attend_columns<kv_f32, kv_f32>(columns, s, block, c, n, s.k, s.v, padded(a.d_v), m, l);
  } else if (a.d_v % kFloats != 0) {
    attend_columns<Kv, kv_f32>(columns, s, block, c, n, source.keys(block), s.v, padded(a.d_v), m,
                               l);
  } else {
    attend_columns<Kv, Kv>(columns, s, block, c, n, source.keys(block), source.values(block), a.d_v,
                           m, l);
  }
}

// Blocks first .. last of one row. Their results merge; or, with `partials`, they are put there one
// by one, for every query head of the row.
template <class Kv>
static void attend_row(const CachedBlocks<Kv>& source, const Columns& columns, const Scratch& s,
                       int64_t first, int64_t last, float* partials) {
  const etch_attend& a = columns.a;
  load_queries(columns, s);
  const int64_t o_step = padded(a.d_v);
  for (int64_t block = first; block <= last; ++block) {
    const Interval seen = in_block(columns.seen(0), block);
    if (CachedBlocks<Kv>::kScaled)
      source.copy_keys(block, seen.first / kFloats, seen.last / kFloats + 1, s.k);
    if (CachedBlocks<Kv>::kScaled || a.d_v % kFloats != 0)
      source.copy_values(block, seen.first, seen.last + 1, s.v);
    for (int64_t c = 0; c < columns.group; c += kColumns) {
      const int64_t n = columns.group - c < kColumns ? columns.group - c : kColumns;
      float m[kFloats], l[kFloats];
      attend_row_columns(source, columns, s, block, c, n, m, l);
      if (partials == nullptr) {
        merge_block(n, a.d_v, s.m + c, s.l + c, s.o + c * o_step, o_step, m, l, s.block_o, o_step);
        continue;
      }
      for (int64_t i = 0; i < n; ++i) {
        float* const to =
            partials + (columns.first_head + c + i) * attend_work::partial_floats(a.d_v);
        to[0] = m[i];
        to[1] = l[i];
        __builtin_memcpy(to + kFloats, s.block_o + i * o_step, static_cast<size_t>(o_step) * 4);
      }
    }
    if (partials != nullptr) partials += a.n_q * attend_work::partial_floats(a.d_v);
  }
  if (partials != nullptr) return;
  finish_columns(columns, s);
}

// f(run, unit) for the unit-th piece of the runs of one kind, pieces(run) of each.
template <class Pieces>
ETCH_INLINE int32_t run_of_unit(const etch_step& step, int64_t& unit, Pieces pieces) {
  int32_t r = 0;
  for (int64_t n; unit >= (n = pieces(step.runs[r])); ++r) unit -= n;
  return r;
}

template <class Kv>
static inline void attend(const void* args, const etch_thread* thread, int64_t first,
                          int64_t last) {
  const etch_attend& a = *static_cast<const etch_attend*>(args);
  const etch_step& step = *thread->step;
  const attend_work::Work work = attend_work::count_work(a, *thread);
  const Scratch scratch = scratch_of(a);
  if (a.relative != nullptr) fill_buckets(a, scratch.buckets);
  for (int64_t item = first; item < last; ++item) {
    const attend_work::Unit unit = attend_work::unit_of_item(work, item);
    int64_t piece = unit.index;
    const int32_t r = run_of_unit(step, piece, [&](const etch_run& run) {
      return attend_work::pieces(a, work, run, unit.tile);
    });
    const etch_run& run = step.runs[r];
    const int64_t first_head = attend_work::first_query_head(a, unit.kv_head);
    Columns columns{a, run,        0,
                    1, first_head, attend_work::first_query_head(a, unit.kv_head + 1) - first_head};
    if (columns.group == 0) continue;
    if (unit.tile) {  // about equal parts of the run
      const int64_t n = attend_work::pieces(a, work, run, true);
      columns.row = piece * run.count / n;
      columns.n_rows = (piece + 1) * run.count / n - columns.row;
    }
    if constexpr (kIsCached<Kv>) {
      const CachedBlocks<Kv> source{step.states[int64_t{a.state} * step.n_runs + r], unit.kv_head,
                                    a.d_k, a.d_v};
      const Interval seen = columns.seen(0);
      if (unit.tile)
        attend_tile(source, columns, scratch);
      else if (!work.by_blocks)
        attend_row(source, columns, scratch, seen.first / kBlock, seen.last / kBlock, nullptr);
      else
        attend_row(source, columns, scratch, seen.first / kBlock + piece,
                   seen.first / kBlock + piece,
                   a.partials + unit.index * a.n_q * attend_work::partial_floats(a.d_v));
    } else {
      attend_tile(RowBlocks{a, run, unit.kv_head}, columns, scratch);
    }
  }
}

// What attend left in `partials`, joined in ascending order. An item is a query head of a run of
// one row.
static inline void attend_merge(const void* args, const etch_thread* thread, int64_t first,
                                int64_t last) {
  const etch_attend& a = *static_cast<const etch_attend*>(args);
  const etch_step& step = *thread->step;
  const int64_t partial_step = attend_work::partial_floats(a.d_v);
  for (int64_t item = first; item < last; ++item) {
    const int64_t head = item % a.n_q;
    int64_t single = item / a.n_q, unit = 0;
    int32_t r = 0;
    for (;; ++r) {
      if (!attend_work::is_single(a, step.runs[r])) continue;
      if (single-- == 0) break;
      unit += attend_work::blocks_of_single(a, step.runs[r]);
    }
    const etch_run& run = step.runs[r];
    float* const y =
        reinterpret_cast<float*>(a.y.at + run.first_row * a.y.row_stride + head * a.y.inner_stride);
    float m = 0, l = 0;
    const int64_t blocks = attend_work::blocks_of_single(a, run);
    for (int64_t b = 0; b < blocks; ++b) {
      const float* const from = a.partials + ((unit + b) * a.n_q + head) * partial_step;
      merge_block(1, a.d_v, &m, &l, y, 0, from, from + 1, from + kFloats, 0);
    }
    finish(a, head, m, l, y, y);
  }
}

}  // namespace etch::ETCH_ISA
