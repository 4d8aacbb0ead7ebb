// etch circuit test: made-up models of a circuit, of all types and mixes of types, with and without
// what a file may lack, run in every way there is. The plain evaluation agrees with itself in one
// step and token by token; the executor gives the same bits in prefill, in decode, in chunks,
// beside another sequence and after saving and restoring; and it stays as close to the plain
// evaluation as the rounding of its kernels explains.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "circuit/ast.h"

namespace etch {

struct CircuitTestOptions {
  uint64_t seed = 1;
  bool each_type = true;  // a model of each type of weights, beside those of float32
  int n_mixes = 4;        // and models of random mixes of types
  int64_t n_tokens = 16;  // past the windows of made-up models
  int n_threads = 2;
  bool execute = true;  // false: the plain evaluation alone
};

struct CircuitTestReport {
  struct Model {
    std::string name;          // "Q4_K", "a mix of types, 2"
    std::string failure;       // "" if everything held
    std::string not_executed;  // why the executor does not run it; "" if it does
    double float_error = -1;   // executor against plain evaluation, in deviations of the logits
  };
  std::vector<Model> models;
  int n_failed() const;
  int n_executed() const;
};

// Errors are models that cannot be made; what does not hold is in the report.
Result<CircuitTestReport> test_circuit(std::shared_ptr<const Circuit> circuit,
                                       const CircuitTestOptions& options = {});

}  // namespace etch
