// What the printed C tells its reader beyond the calls: names of dims and tensors. Plain data,
// since code/ sees neither circuits nor models; compile/code_options_of() fills it in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace etch {

struct CodeOptions {
  struct Dim {
    std::string name;  // "d_model"
    int64_t value = 0;
    std::string source;  // "llama.embedding_length"
  };
  struct Tensor {
    int64_t offset = 0;  // of its first byte in the file
    std::string name;    // "blk.3.attn_q.weight"
    std::string part;    // "attn_q", "attn_q_bias"
    int32_t layer = -1;
    std::string dtype;                 // "Q4_1"
    std::vector<std::string> lengths;  // as the circuit has them: "n_heads*d_head"
    std::vector<int64_t> shape;
  };
  std::string model;         // "SmolLM2 135M Instruct"
  std::string file;          // "SmolLM2-135M-Instruct.Q4_1.gguf"
  std::string circuit;       // "circuits/llama.circuit"
  std::string etch_version;  // "0.1.0"
  std::vector<Dim> dims;
  std::vector<Tensor> tensors;  // by offset
  // What the library asks of a file before it uses it (include/etch/model_abi.h, etch_sample).
  int64_t file_bytes = 0, header_bytes = 0;
  uint64_t file_sample = 0;
};

}  // namespace etch
