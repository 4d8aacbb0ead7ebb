// How the items of a call are shared out: thread i of n gets items share(i) .. share(i + 1) - 1.
// Depends on the two numbers alone, so that every thread knows which tile of the next matrix will
// be its first. Included by kernels of every instruction set, hence internal linkage.
#pragma once

#include <cstdint>

namespace etch {

static constexpr int64_t share(int64_t items, int32_t thread, int32_t n_threads) {
  return items / n_threads * thread + items % n_threads * thread / n_threads;
}

}  // namespace etch
