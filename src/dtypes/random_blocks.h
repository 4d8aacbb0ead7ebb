// Made-up weights of any type that can be decoded: random codes under scales that keep every value
// within about
// +-magnitude. No encoder is needed, and every bit pattern of the codes occurs.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "dtypes/dtype.h"

namespace etch {

// n elements (whole blocks).
void fill_random_blocks(DType dtype, Random& random, float magnitude, uint8_t* blocks, int64_t n);
std::vector<uint8_t> random_blocks(DType dtype, Random& random, float magnitude, int64_t n);

}  // namespace etch
