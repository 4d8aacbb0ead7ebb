// What a guard puts around memory, and into memory that nobody should read.
#pragma once

#include <cstdint>

namespace etch {

// Wider than any vector or prefetched tail a kernel could run over by mistake.
constexpr int64_t kRedZone = 256;
// A float of these bytes is NaN, in f32, f16 and bf16; and so is a scale of q8_0.
constexpr uint8_t kDead = 0xff;

}  // namespace etch
