// The circuit whose parts are most like a file's tensors: for messages, and for drafts of new ones.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "circuit/library.h"

namespace etch {

struct Nearest {
  std::shared_ptr<const Circuit> circuit;  // null: none has a tensor in common with the file
  size_t known = 0;                        // tensors of the file that it has names for
  std::map<std::string, int> unknown;      // "blk.*.attn_gate.weight" -> so many tensors
  size_t absent = 0;                       // parts that must be there and are not
  size_t far() const { return unknown.size() + absent; }
};

Nearest nearest_circuit(const CircuitLibrary& library, const Model& model);

}  // namespace etch
