// infer(): what kind of values a node makes, with how many rows and of which shape. The one place
// that knows; the builder asks it when it makes a node, verify() asks again after every pass.
#pragma once

#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "model/shape.h"

namespace etch {

// The outputs of a node whose inputs and attributes are filled in: kind, dtype, rows, block and
// shape. Inputs of a graph, weights and constants say themselves what they are.
Result<std::vector<Value>> infer(const Graph& graph, const Node& node);

// At most four axes, none empty, and a number of elements that a byte count can hold.
Status check_shape(const std::vector<int64_t>& shape);

}  // namespace etch
