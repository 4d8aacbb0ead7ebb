// What must hold for a plan, whoever made it. These checks read the finished data and share no code
// with the planner; whatever they find is a mistake of etch (ErrorKind::internal).
#pragma once

#include "base/result.h"
#include "lowered/lowered.h"

namespace etch {

// Everything below, and: arguments are of their struct's types and point into the buffers they
// name, whatever is read was written before and not overwritten since, kernels read and write the
// representations they say.
Status verify(const Lowered& lowered);

// No two accesses of different threads to the same bytes, one of them a write, without a barrier
// between them (races.cc).
Status check_races(const Lowered& lowered);

// No two buffers that live at the same time share a byte, and buffers live as long as they say
// (overlaps.cc). A life is counted in phases, the stretches between barriers.
Status check_overlaps(const Lowered& lowered);

}  // namespace etch
