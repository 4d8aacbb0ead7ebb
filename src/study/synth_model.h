// Tiny made-up models of any circuit: a whole GGUF file in memory, with keys drawn until every
// `require` holds, every part in a legal shape, and random blocks of the types asked for. The
// weights mean nothing; they are lively enough for a mistake anywhere to show in the logits.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "circuit/ast.h"
#include "dtypes/dtype.h"
#include "model/model.h"

namespace etch {

struct SynthOptions {
  uint64_t seed = 1;
  // Matrices and tables draw from these, each part for itself; where no block of any fits a row it
  // is F32, as are norms, biases and all else.
  std::vector<DType> types = {DType::f32};
  enum class Optional : uint8_t { all, none, drawn };
  Optional optional = Optional::all;  // parts, biases and keys that a file may lack
  bool packed = false;                // packs come as one tensor
  bool pieces = false;                // stacks that may come as one tensor a matrix do
  int64_t width = 64;                 // the unit of row lengths; 256 lets every type fit everywhere
  int64_t n_vocab = 96;
  int64_t n_layers = 0;  // 0: drawn, 2 or 3
};

// The bytes of the file. There is no vocabulary in it: tokenizer.ggml.model is "none".
Result<std::vector<uint8_t>> synth_gguf(const Circuit& circuit, const SynthOptions& options = {});
Result<std::shared_ptr<const Model>> synth_model(const Circuit& circuit,
                                                 const SynthOptions& options = {});

}  // namespace etch
