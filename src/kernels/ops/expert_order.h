// (row, slot) pairs sorted by expert, so that each expert's matrix is read once for all its rows. A
// stable counting sort; one item, one thread.
#pragma once

#include "kernels/ops/rows.h"

namespace etch::ETCH_ISA {

static inline void expert_order(const void* args, const etch_thread* thread, int64_t first,
                                int64_t last) {
  const auto& a = *static_cast<const etch_expert_order*>(args);
  if (first == last) return;
  const int64_t n = count_rows(a.rows, thread) * a.n_used;
  int32_t* const places = a.order;
  int32_t* const pairs = a.order + a.n_experts + 1;
  // An id that is none (of a table that lies) counts as expert 0 and fails its row.
  const auto expert = [&](int64_t pair) {
    const int32_t e = a.experts[pair];
    return e < 0 || e >= a.n_experts ? 0 : e;
  };
  for (int32_t e = 0; e <= a.n_experts; ++e) places[e] = 0;
  for (int64_t pair = 0; pair < n; ++pair) {
    if (expert(pair) != a.experts[pair]) mark_failed(thread, a.rows, pair / a.n_used);
    ++places[expert(pair) + 1];
  }
  for (int32_t e = 0; e < a.n_experts; ++e) places[e + 1] += places[e];
  // places[e] runs through e's places and ends at the next expert's first one; then all move one
  // on.
  for (int64_t pair = 0; pair < n; ++pair)
    pairs[places[expert(pair)]++] = static_cast<int32_t>(pair);
  for (int32_t e = a.n_experts; e > 0; --e) places[e] = places[e - 1];
  places[0] = 0;
}

}  // namespace etch::ETCH_ISA
