// build_graph(): one flow of a bound circuit as a graph. The circuit's walker unrolls loops,
// inlines defs and proves shapes; here every application becomes a node, every part that is used a
// weight.
#pragma once

#include <string_view>

#include "base/result.h"
#include "circuit/binding.h"
#include "graph/graph.h"

namespace etch {

// "" is the main flow; "encode" and "draft" are the others. Graphs of one binding number states and
// rotaries alike. Outputs with a row per token give the rows that want outputs.
Result<Graph> build_graph(const Binding& binding, std::string_view flow = "");

}  // namespace etch
