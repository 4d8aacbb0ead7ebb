// The checks of a circuit alone, before any file (circuit-language.md section 14): names, types,
// shapes by symbolic arithmetic, arms, loops, states, what is never used.
#pragma once

#include "circuit/ast.h"
#include "circuit/diagnostics.h"

namespace etch {

// Errors, warnings, and notes on what only a file decides. All errors of a stage are told, then the
// stage stops: names, then dims, then flows, then what is left unused. `circuit` must outlive the
// result.
Diagnostics check_circuit(const Circuit& circuit);

}  // namespace etch
