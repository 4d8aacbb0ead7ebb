// One block of 128 positions for one query (arithmetic.md section 5): scores to probabilities, and
// how the results of blocks merge.
#pragma once

#include "kernels/attend_work.h"
#include "kernels/ops/chains.h"

namespace etch::ETCH_ISA {

using attend_work::Interval;
using attend_work::kBlock;
using attend_work::padded;

// A thread's scratch, attend_work::scratch_floats() long. Columns are queries: rows x heads of the
// group.
struct Scratch {
  float* q;          // [columns][d_k], turned
  float* m;          // [columns]
  float* l;          // [columns]; 0 before the first block
  float* o;          // [columns][d_v padded]
  float* k;          // [8][d_k][16]
  float* v;          // [128][d_v padded]
  float* p;          // [kColumns][128]
  float* block_o;    // [kColumns][d_v padded]
  int32_t* buckets;  // [reach + 1], with relative
};

static inline Scratch scratch_of(const etch_attend& a) {
  const int64_t columns = attend_work::most_columns(a);
  Scratch s;
  s.q = reinterpret_cast<float*>(a.scratch);
  s.m = s.q + padded(columns * a.d_k);
  s.l = s.m + padded(columns);
  s.o = s.l + padded(columns);
  s.k = s.o + columns * padded(a.d_v);
  s.v = s.k + kBlock * a.d_k;
  s.p = s.v + kBlock * padded(a.d_v);
  s.block_o = s.p + attend_work::kScratchColumns * kBlock;
  s.buckets = reinterpret_cast<int32_t*>(s.block_o + attend_work::kScratchColumns * padded(a.d_v));
  return s;
}
static_assert(kColumns <= attend_work::kScratchColumns);

// T5's buckets: half of them a distance each, the rest logarithmic up to `reach`; twice, by
// direction, without a mask. A distance d is in bucket exact + t while (d / exact)^rest >= (reach /
// exact)^t: whole powers, no logarithm to round.
ETCH_INLINE int64_t buckets_of_side(const etch_attend& a) {
  return a.full != 0 ? a.buckets / 2 : a.buckets;
}
static inline void fill_buckets(const etch_attend& a, int32_t* buckets) {
  const int64_t exact = buckets_of_side(a) / 2, rest = buckets_of_side(a) - exact;
  const double ratio = static_cast<double>(a.reach) / static_cast<double>(exact);
  double next = ratio;  // ratio^(t + 1)
  int64_t t = 0;
  for (int64_t d = 0; d <= a.reach; ++d) {
    if (d < exact) {
      buckets[d] = static_cast<int32_t>(d);
      continue;
    }
    double power = 1;
    for (int64_t i = 0; i < rest; ++i) power *= static_cast<double>(d) / static_cast<double>(exact);
    for (; t < rest - 1 && power >= next; ++t) next *= ratio;
    buckets[d] = static_cast<int32_t>(exact + t);
  }
}
ETCH_INLINE int64_t bucket_of(const etch_attend& a, const int32_t* buckets, int64_t ahead) {
  const int64_t side = a.full != 0 && ahead > 0 ? buckets_of_side(a) : 0;
  const int64_t distance = ahead > 0 ? (a.full != 0 ? ahead : 0) : -ahead;
  return side + buckets[distance < a.reach ? distance : a.reach];
}

// What query head `head` at `query` adds to the scores of positions first .. first + 15.
static inline Word adjusted_scores(const etch_attend& a, const Scratch& s, Word score, int64_t head,
                                   int64_t query, int64_t first) {
  if (a.softcap != 0) score = W::mul(W::set(a.softcap), tanh<W>(W::div(score, W::set(a.softcap))));
  if (a.relative != nullptr) {
    float bias[kFloats];
    for (int64_t k = 0; k < kFloats; ++k)
      bias[k] = a.relative[bucket_of(a, s.buckets, first + k - query) * a.n_q + head];
    score = W::add(score, W::load(bias));
  }
  if (a.slopes != nullptr) {
    const auto ahead = W::add_int(W::iota(), W::set_int(static_cast<int32_t>(first - query)));
    score = W::fnma(W::set(a.slopes[head]), W::to_float(W::abs_int(ahead)), score);
  }
  return score;
}

// p: the chains of words first_word .. last_word - 1 become scores, -infinity where not seen (seen
// counts from `start`). Gives their maximum.
static inline float block_scores(const etch_attend& a, const Scratch& s, int64_t head,
                                 int64_t query, int64_t start, Interval seen, int64_t first_word,
                                 int64_t last_word, float* p) {
  const Word scale = W::set(a.scale), lowest = W::set(-__builtin_inff());
  const bool plain = a.softcap == 0 && a.relative == nullptr && a.slopes == nullptr;
  Word top = lowest;
  for (int64_t w = first_word; w < last_word; ++w) {
    const int64_t at = w * kFloats;
    Word score = W::mul(scale, W::load(p + at));
    if (!plain) score = adjusted_scores(a, s, score, head, query, start + at);
    if (at < seen.first || at + kFloats - 1 > seen.last)
      score = W::select(W::lanes(seen.first - at, seen.last + 1 - at), score, lowest);
    W::store(p + at, score);
    top = W::max(top, score);
  }
  return W::reduce_max(top);
}

// Scores become exp(score - m). Gives their sum.
static inline float block_exps(int64_t first_word, int64_t last_word, float m, float* p) {
  const Word highest = W::set(m);
  Word sums = W::set(0.0f);
  for (int64_t w = first_word; w < last_word; ++w) {
    const Word e = exp_up_to_89<W>(W::sub(W::load(p + w * kFloats), highest));
    W::store(p + w * kFloats, e);
    sums = W::add(sums, e);
  }
  return W::reduce_add(sums);
}

// The result of a block (block_m, block_l, block_o) joins what came before it (m, l, o; l = 0:
// nothing did).
//   m' = max(m, m_b)    a = exp(m - m')    b = exp(m_b - m')    l = fma(l_b, b, l a)    o =
//   fma(o_b, b, o a)
// n columns, n <= kColumns: their a and b come out of one word each. A block_l of 0: nothing of it
// is visible.
static inline void merge_block(int64_t n, int64_t d_v, float* m, float* l, float* o, int64_t o_step,
                               const float* block_m, const float* block_l, const float* block_o,
                               int64_t block_o_step) {
  float a[kFloats], b[kFloats], top[kFloats];
  const Word old = W::load_first(m, n), add = W::load_first(block_m, n);
  const Word both = W::max(old, add);
  W::store(top, both);
  W::store(a, exp<W>(W::sub(old, both)));
  W::store(b, exp<W>(W::sub(add, both)));
  const Word zero = W::set(0.0f);
  for (int64_t c = 0; c < n; ++c) {
    float* const to = o + c * o_step;
    const float* const from = block_o + c * block_o_step;
    if (block_l[c] == 0) continue;
    if (l[c] == 0) {  // as it is
      m[c] = block_m[c];
      l[c] = block_l[c];
      for_words(
          d_v, [&](int64_t k, int64_t w) __attribute__((always_inline)) {
            store_some(to + k, W::add(load_some(from + k, w), zero), w);
          });
      continue;
    }
    m[c] = top[c];
    l[c] = __builtin_fmaf(block_l[c], b[c], l[c] * a[c]);
    const Word wa = W::set(a[c]), wb = W::set(b[c]);
    for_words(
        d_v, [&](int64_t k, int64_t w) __attribute__((always_inline)) {
          const Word block = W::add(load_some(from + k, w), zero);
          store_some(to + k, W::fma(block, wb, W::mul(load_some(to + k, w), wa)), w);
        });
  }
}

// The sink, as a block of its own, then o / l. Without anything visible the result is 0.
static inline void finish(const etch_attend& a, int64_t head, float m, float l, const float* o,
                          float* y) {
  if (l == 0) {
    __builtin_memset(y, 0, static_cast<size_t>(a.d_v) * 4);
    return;
  }
  float scale_o = 1;
  if (a.sinks != nullptr) {
    const float sink = a.sinks[head];
    const float top = m > sink ? m : sink;
    scale_o = exp_of<W>(m - top);
    l = exp_of<W>(sink - top) + l * scale_o;  // l_b = 1: the fma is a sum
  }
  const Word wa = W::set(scale_o), total = W::set(l), zero = W::set(0.0f);
  for_words(
      a.d_v, [&](int64_t k, int64_t n) __attribute__((always_inline)) {
        Word v = load_some(o + k, n);
        if (a.sinks != nullptr) v = W::add(W::mul(v, wa), zero);
        store_some(y + k, W::div(v, total), n);
      });
}

}  // namespace etch::ETCH_ISA
