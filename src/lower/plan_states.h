// What is known before any call is made: the states of a sequence, the buffers of a step's inputs
// and outputs, and where weights in memory count their offsets from.
#pragma once

#include "base/result.h"
#include "graph/graph.h"
#include "lowered/lowered.h"

namespace etch {

void plan_states(const Graph& graph, Lowered& lowered);
Status plan_inputs_and_outputs(const Graph& graph, Lowered& lowered);
void find_weight_bases(const Graph& graph, Lowered& lowered);

}  // namespace etch
