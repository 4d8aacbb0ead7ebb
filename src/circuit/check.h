// The checks of a circuit alone, before any file (circuit-language.md section 14): names, types,
// shapes by symbolic arithmetic, arms, loops, states, what is never used.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "circuit/ast.h"
#include "circuit/diagnostics.h"

namespace etch {

// Errors, warnings, and notes on what only a file decides. All errors of a stage are told, then the
// stage stops: names, then dims, then flows, then what is left unused. `circuit` must outlive the
// result.
Diagnostics check_circuit(const Circuit& circuit);

// What a walk over a checked circuit sees, for those who make files or other circuits of it.
struct CircuitUse {
  std::set<std::string> wire_parts;  // parts read otherwise than as a matrix or a table
  std::set<std::string> norm_parts;  // of these, the weights of norms
  // Two operands of one call, wires or parts of equal shape: where they stand in the text.
  std::vector<std::pair<Location, Location>> alike;
};
CircuitUse use_of(const Circuit& circuit);

}  // namespace etch
