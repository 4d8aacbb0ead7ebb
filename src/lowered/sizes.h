// Sizes of a plan at a given step: buffers say how they grow with its rows.
#pragma once

#include "lowered/lowered.h"

namespace etch {

// Bytes of the arena or of one thread's memory that a step of this size touches in its list.
int64_t bytes_at(const Lowered& lowered, Space space, bool prefill, int64_t n_rows,
                 int64_t n_outputs);

}  // namespace etch
