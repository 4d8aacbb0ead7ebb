// Scores of a row to its chosen experts and their weights (circuit-language.md section 10). An item
// is a row.
#pragma once

#include "kernels/limits.h"
#include "kernels/ops/words.h"

namespace etch::ETCH_ISA {

// p = score(s).
static inline void route_scores(const etch_route& a, const float* s, float* p) {
  Word top = W::set(-__builtin_inff());
  for_words(a.n_experts, [&](int64_t k, int64_t n) {
    top = W::max(top, W::select(W::lanes(0, n), load_some(s + k, n), top));
  });
  const Word highest = W::set(W::reduce_max(top));
  Word sums = W::set(0.0f);
  for_words(a.n_experts, [&](int64_t k, int64_t n) {
    Word v = load_some(s + k, n);
    if (a.score == 1) {
      v = W::select(W::lanes(0, n), exp<W>(W::sub(v, highest)), W::set(0.0f));
      sums = W::add(sums, v);
    } else if (a.score == 2) {
      v = sigmoid<W>(v);
    } else if (a.score == 3) {
      v = W::sqrt(softplus<W>(v));
    }
    store_some(p + k, v, n);
  });
  if (a.score != 1) return;
  const Word total = W::set(W::reduce_add(sums));
  for_words(a.n_experts, [&](int64_t k, int64_t n) {
    store_some(p + k, W::div(load_some(p + k, n), total), n);
  });
}

// The best of c[first .. last - 1] among those not taken, the lower index where two are equal; -1
// without any.
static inline int32_t best_of(const float* c, const uint8_t* taken, int32_t first, int32_t last) {
  int32_t best = -1;
  for (int32_t e = first; e < last; ++e)
    if (taken[e] == 0 && (best < 0 || c[e] > c[best])) best = e;
  return best;
}

// Takes all experts but those of the best groups: groups are ranked by the sum of their two best.
static inline void take_weak_groups(const etch_route& a, const float* c, uint8_t* taken) {
  const int32_t size = a.n_experts / a.groups;
  float ranks[kMaxExperts];
  uint8_t kept[kMaxExperts] = {};
  for (int32_t g = 0; g < a.groups; ++g) {
    const int32_t start = g * size;
    const int32_t best = best_of(c, taken, start, start + size);
    ranks[g] = best < 0 ? -__builtin_inff() : c[best];
    if (best < 0) continue;
    taken[best] = 1;
    const int32_t second = best_of(c, taken, start, start + size);
    taken[best] = 0;
    if (second >= 0) ranks[g] = c[best] + c[second];
  }
  for (int32_t i = 0; i < a.top_groups; ++i) {
    const int32_t g = best_of(ranks, kept, 0, a.groups);
    if (g < 0) break;
    kept[g] = 1;
  }
  for (int32_t e = 0; e < a.n_experts; ++e)
    if (e / size >= a.groups || kept[e / size] == 0) taken[e] = 1;
}

static inline void route(const void* args, const etch_thread* thread, int64_t first, int64_t last) {
  const etch_route& a = *static_cast<const etch_route*>(args);
  for (int64_t r = first; r < last; ++r) {
    int32_t* const experts = a.experts + r * a.top;
    float* const weights = a.weights + r * a.top;
    if (a.n_experts > kMaxExperts || a.top > a.n_experts) {  // the planner refuses it
      for (int32_t i = 0; i < a.top; ++i) experts[i] = 0, weights[i] = 0;
      mark_failed(thread, a.rows, r);
      continue;
    }
    float p[kMaxExperts], c[kMaxExperts];
    uint8_t taken[kMaxExperts] = {};
    route_scores(a, floats_of(a.scores, a.rows, r), p);
    for (int32_t e = 0; e < a.n_experts; ++e) c[e] = a.bias == nullptr ? p[e] : p[e] + a.bias[e];
    if (a.chosen != nullptr) {
      __builtin_memset(taken, 1, sizeof(taken));
      for (int32_t i = 0; i < a.top; ++i) {
        const int32_t e = a.chosen[r * a.top + i];
        if (e < 0 || e >= a.n_experts)
          mark_failed(thread, a.rows, r);
        else
          taken[e] = 0;
      }
    } else if (a.groups > 1) {
      take_weak_groups(a, c, taken);
    }
    for (int32_t i = 0; i < a.top; ++i) {
      int32_t e = best_of(c, taken, 0, a.n_experts);
      if (e < 0) {  // fewer than top to choose from
        e = 0;
        mark_failed(thread, a.rows, r);
      }
      taken[e] = 1;
      experts[i] = e;
      weights[i] = p[e];
    }
    if (a.renorm != 0) {
      Word sums = W::set(0.0f);
      for_words(a.top,
                [&](int64_t k, int64_t n) { sums = W::add(sums, load_some(weights + k, n)); });
      const float total = W::reduce_add(sums);
      const float floor = 0x1p-14f;
      for (int32_t i = 0; i < a.top; ++i) weights[i] = weights[i] / (total > floor ? total : floor);
    }
    for (int32_t i = 0; i < a.top; ++i) weights[i] = weights[i] * a.scale;
  }
}

}  // namespace etch::ETCH_ISA
