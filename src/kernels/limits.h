// What a kernel holds on its stack, and therefore the planner must see to. Internal linkage: read
// by kernels of every instruction set.
#pragma once

#include <cstdint>

namespace etch {

static constexpr int32_t kMaxExperts = 1024;  // of route
static constexpr int64_t kMaxHead = 2048;     // d_k, d_v of append

}  // namespace etch
