// Where circuits come from, and which one a file wants.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "circuit/ast.h"
#include "model/model.h"

namespace etch {

struct EmbeddedCircuit {
  std::string_view name;  // "circuits/llama.circuit"
  std::string_view text;
};
// The circuits of this repository, in the order of their names; made by cmake/embed.cmake.
std::span<const EmbeddedCircuit> embedded_circuits();

struct LibraryOptions {
  std::string path;         // --circuit: a file, or a folder of files; "" if not given
  std::string called;       // what a single file is called in origins and messages; "": its path
  std::string user_folder;  // "" if there is none
  std::string system_folder;
};

// Places in the order in which they are asked: the first with a circuit that matches decides.
struct CircuitLibrary {
  struct Place {
    std::string name;  // "--circuit my.circuit", "the folder ...", "the circuits of etch"
    std::vector<std::shared_ptr<const Circuit>> circuits;
  };
  std::vector<Place> places;

  std::shared_ptr<const Circuit> find(
      std::string_view name) const;  // by the name behind the word circuit
};

// Parses everything. A file with mistakes in it is an error with all of them; folders that do not
// exist are empty.
Result<CircuitLibrary> load_library(const LibraryOptions& options = {});

// The one circuit whose `match` holds. None, or two in one place, are errors that name the nearest
// ones.
Result<std::shared_ptr<const Circuit>> find_circuit(const CircuitLibrary& library,
                                                    const Model& model);

}  // namespace etch
