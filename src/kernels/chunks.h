// How long rows are cut into items, so that one row of decode is work for several threads. Read by
// the registry and by kernels of every instruction set, hence internal linkage.
#pragma once

#include <cstdint>

#include "etch/model_abi.h"

namespace etch {

static constexpr int64_t kElementwiseChunk =
    1024;  // 4 KB of each operand: some 1000 cycles of the dearer operations
static constexpr int64_t kMixChunk = 1024;

static constexpr int64_t chunks_of(int64_t n, int64_t chunk) { return (n + chunk - 1) / chunk; }
static constexpr int64_t elementwise_chunks(const etch_elementwise& e) {
  return chunks_of(e.sizes[3], kElementwiseChunk);
}

}  // namespace etch
