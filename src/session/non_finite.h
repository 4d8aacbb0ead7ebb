// Values that are not finite. Kernels mark a row where they quantise, and where they fill a cache;
// what reaches the outputs of a model by other ways (weights in float, all of them) is found there.
// So nothing that is not finite stays in a sequence or is given to a caller.
//
// Which call it came from is asked only when something was found: the step runs again and every
// call is looked at.
#pragma once

#include <cstdint>
#include <span>

#include "etch/model_abi.h"
#include "lowered/lowered.h"
#include "session/arena.h"

namespace etch {

bool all_finite(std::span<const float> x);

// The row of the step whose outputs are not finite; -1: there is none.
int64_t row_with_bad_output(const Lowered& lowered, const Arena& arena, const etch_step& step);

// Has call number `call` of a list, which just ran, written floats that are not finite? Asked of
// the last call of a graph node: only then its value is whole.
bool wrote_non_finite(const Lowered& lowered, const Arena& arena, const CallList& list,
                      int64_t call, const etch_step& step);

}  // namespace etch
