// In which order calls run, which of them every thread makes for itself, what is done in place, and
// where threads wait for each other.
#pragma once

#include "lower/draft.h"

namespace etch {

void schedule(Draft& draft);

// Offsets for every slot of the list: into `lowered.buffers`, with the calls' places made real.
// Returns the finished list.
CallList plan_arena(Draft draft, Lowered& lowered);

}  // namespace etch
