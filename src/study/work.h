// How much work a step is: bytes of weights read, multiplications and additions. From the plan, not
// from a clock.
#pragma once

#include <cstdint>

#include "lowered/lowered.h"

namespace etch {

struct Work {
  int64_t weight_bytes = 0;     // read by the products of one step
  int64_t macs_per_row = 0;     // of products with weights, for every row
  int64_t macs_per_output = 0;  // and for every row that wants outputs
};
Work work_of(const CallList& list);

}  // namespace etch
