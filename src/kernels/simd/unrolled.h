// Loops unrolled before anything else sees them: the body gets its index as a constant, so that
// arrays of vectors become registers. (A loop unrolled by the optimiser leaves them in memory.)
#pragma once

#include "kernels/simd/scalar_dot.h"

#define ETCH_LAMBDA __attribute__((always_inline))

namespace etch::ETCH_ISA {

template <int i>
struct Index {
  static constexpr int value = i;
  constexpr operator int() const { return i; }
};

template <int n, int i = 0, class Body>
ETCH_WORD void unrolled(Body body) {
  if constexpr (i < n) {
    body(Index<i>{});
    unrolled<n, i + 1>(body);
  }
}

}  // namespace etch::ETCH_ISA
