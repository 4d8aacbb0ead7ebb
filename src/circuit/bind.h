// From a circuit and a model to a Binding: dims get their numbers, parts their tensors, states
// their sizes, and every shape is proved again on the unrolled circuit. All findings of a stage are
// told together.
#pragma once

#include <memory>

#include "circuit/ast.h"
#include "circuit/binding.h"

namespace etch {

struct BindOptions {
  int64_t n_ctx = 0;    // the session's context, which decides between longrope's factors; 0: the
                        // smaller of 4096 and the file's
  bool strict = false;  // keys that the circuit neither reads nor ignores are errors
};

// The circuit must have passed check_circuit().
Result<Binding> bind(std::shared_ptr<const Circuit> circuit, std::shared_ptr<const Model> model,
                     const BindOptions& options = {});

}  // namespace etch
