// verify(): what must hold of every graph, after the builder and after every pass.
#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace etch {

// Order of making and using, references inside their lists, attributes that the operation has and
// of its types, kinds, rows and shapes as infer() finds them, at most one writer of a state,
// weights inside the model.
Status verify(const Graph& graph);

// A weight alone: decodable, whole blocks in a row, and inside its memory. `file_bytes` is the size
// of the model's mapping.
Status verify_weight(const WeightSource& weight, int64_t file_bytes);

}  // namespace etch
