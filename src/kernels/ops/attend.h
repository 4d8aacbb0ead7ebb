// Attention of the rows of a step (arithmetic.md section 5), cut into items by attend_work.h.
//
//   a tile       some rows of a run x the heads of a group are columns; block after block: K and V
//   to float32 once,
//                then for 6 columns at a time scores, probabilities, values, merge
//   one row      the heads of a group are columns, K and V are read where they are
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
  int64_t head(int64_t c) const { return first_head + c % group; }
  int64_t step_row(int64_t c) const { return run.first_row + row + c / group; }
  int64_t query(int64_t c) const { return run.first_position + row + c / group; }
  float* y(int64_t c) const {
    return reinterpret_cast<float*>(a.y.at + step_row(c) * a.y.row_stride +
                                    head(c) * a.y.inner_stride);
  }
  Interval seen(int64_t c) const {
    return attend_work::visible(a, query(c), attend_work::available(a, run));
  }
  // What columns first .. last - 1 see together: a run's intervals move up with the row.
  Interval seen(int64_t first, int64_t last) const {
    return {seen(first).first, seen(last - 1).last};
  }
};

// An interval of positions, as far as it lies in a block and counted from the block's start.
ETCH_INLINE Interval in_block(Interval v, int64_t block) {
  const int64_t start = block * kBlock;
  return {attend_work::most(v.first - start, 0), attend_work::least(v.last - start, kBlock - 1)};
}
ETCH_INLINE bool is_empty(Interval v) { return v.last < v.first; }

static inline void load_queries(const Columns& c, const Scratch& s) {
  const etch_attend& a = c.a;
  for (int64_t i = 0; i < c.count(); ++i) {
    const auto* const q = reinterpret_cast<const float*>(a.q.at + c.step_row(i) * a.q.row_stride +
                                                         c.head(i) * a.q.inner_stride);
    if (a.table != nullptr)
      turn(q, s.q + i * a.d_k, a.table + c.step_row(i) * 2 * a.pairs, a.d_k, a.pairs, a.layout,
           false);
    else
      __builtin_memcpy(s.q + i * a.d_k, q, static_cast<size_t>(a.d_k) * 4);
    s.l[i] = 0;
  }
}

// Results of a block for columns c .. c + n - 1: m, l (0: nothing visible) and s.block_o.
template <class KvK, class KvV>
static inline void attend_columns(const Columns& columns, const Scratch& s, int64_t block,
                                  int64_t c, int64_t n, const typename KvK::Number* k,
                                  const typename KvV::Number* v, int64_t v_step, float* m,
                                  float* l) {
  const etch_attend& a = columns.a;
  const Interval seen = in_block(columns.seen(c, c + n), block);
  for (int64_t i = 0; i < n; ++i) m[i] = l[i] = 0;
  if (is_empty(seen)) return;
  const int64_t first_word = seen.first / kFloats, last_word = seen.last / kFloats + 1;
  chains<KvK>(n, k,
              {kFloats, a.d_k * kFloats, s.q + c * a.d_k, a.d_k, s.p, kBlock, 0, a.d_k, first_word,
               last_word});
  for (int64_t i = 0; i < n; ++i) {
    const Interval own = in_block(columns.seen(c + i), block);
    if (is_empty(own))
      __builtin_memset(s.p + i * kBlock, 0, kBlock * 4);
    else
      block_probabilities(a, s, columns.head(c + i), columns.query(c + i), block * kBlock, own,
                          first_word, last_word, s.p + i * kBlock, m[i], l[i]);
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
  const Interval all = columns.seen(0, count);
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
  for (int64_t c = 0; c < count; ++c)
    finish(a, columns.head(c), s.m[c], s.l[c], s.o + c * o_step, columns.y(c));
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
        float* const to = partials + columns.head(c + i) * attend_work::partial_floats(a.d_v);
        to[0] = m[i];
        to[1] = l[i];
        __builtin_memcpy(to + kFloats, s.block_o + i * o_step, static_cast<size_t>(o_step) * 4);
      }
    }
    if (partials != nullptr) partials += a.n_q * attend_work::partial_floats(a.d_v);
  }
  if (partials != nullptr) return;
  for (int64_t c = 0; c < columns.group; ++c)
    finish(a, columns.head(c), s.m[c], s.l[c], s.o + c * o_step, columns.y(c));
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
    if (unit.tile) {
      columns.row = piece * work.tile_rows;
      columns.n_rows = attend_work::least(work.tile_rows, run.count - columns.row);
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
