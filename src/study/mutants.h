// Mutants of a circuit: the text with one thing taken out or two exchanged. Each must be refused,
// or give other numbers, or stand in a list of equivalents with the reason; what does none of these
// shows a hole in the checks or the tests.
#pragma once

#include <string>
#include <vector>

#include "circuit/ast.h"

namespace etch {

struct Mutant {
  std::string description;  // "without 'h = rmsnorm(x, attn_norm, eps)' (flow)", "linear(h,
                            // attn_q): h <-> attn_q"
  int line = 0;
  std::string text;  // of the whole circuit
};

// Every statement or part of dims, parts, state, def and flow deleted; every swap of two wires or
// parts of equal shape in one call. In the order of the text. The circuit must have passed
// check_circuit().
std::vector<Mutant> mutants_of(const Circuit& circuit);

}  // namespace etch
