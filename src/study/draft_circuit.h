// A first draft of a circuit for a file that none knows: the nearest circuit under the file's
// architecture, with the file's left-over tensors as parts, its left-over keys, and everything that
// still does not fit, marked where a person must decide. Nothing is guessed about how a new part is
// wired: until its place in the flow is written, the draft does not pass `etch circuit check`.
#pragma once

#include <string>
#include <vector>

#include "circuit/library.h"

namespace etch {

struct CircuitDraft {
  std::string text;
  std::string nearest;  // name of the circuit it was made from
  size_t n_known = 0;   // tensors of the file that the nearest circuit knows
  size_t n_tensors = 0;
  std::vector<std::string> open;  // what must be decided, a line each; every one stands in the text
};

// `model_name` is what the model is called in the draft. Fails where a circuit knows the file
// already, or none has a tensor in common with it.
Result<CircuitDraft> draft_circuit(const CircuitLibrary& library,
                                   std::shared_ptr<const Model> model,
                                   const std::string& model_name);

}  // namespace etch
