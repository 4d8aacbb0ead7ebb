// Sizes of a plan: what a step of N rows needs, buffer by buffer, and what a session maps in all.
#pragma once

#include "lowered/lowered.h"

namespace etch {

// Bytes of the arena or of one thread's memory that a step of this size touches in its list.
int64_t bytes_at(const Lowered& lowered, Space space, bool prefill, int64_t n_rows,
                 int64_t n_outputs);

// Bytes of the pages (or the memory) of every state for one sequence of n_positions.
int64_t state_bytes(const Lowered& lowered, int64_t n_positions);

}  // namespace etch
