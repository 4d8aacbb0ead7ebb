// A graph as text for people and as JSON for tools. Both are stable: the same graph gives the same
// bytes, and ids are those of the graph.
#pragma once

#include <string>

#include "graph/graph.h"

namespace etch {

// One line a node:
//   n17  q.1      tokens [4, 16]   = rope(q, rotary: pos)           # layer 0,
//   circuits/llama.circuit:55
std::string print(const Graph& graph);
std::string print_json(const Graph& graph);  // "schema": "etch.graph/1"

// "q.1 = rope(q, rotary: pos)": for explain, comments in C, and messages.
std::string print_node(const Graph& graph, const Node& node);

}  // namespace etch
