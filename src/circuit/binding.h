// Binding: a circuit and a model put together. Every dim has its number, every part its tensor,
// every state its size; nothing is left open. What is read here is all that graph/ needs to know of
// a file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/model.h"
#include "ops/op.h"

namespace etch {

struct Circuit;  // circuit/ast.h
class Dims;      // circuit/expr.h

// A rotary encoding with its numbers (circuit-language.md section 8).
struct Rotary {
  std::string name;                // "pos"
  Symbol layout = Symbol::pairs;   // pairs | halves
  int64_t dims = 0;                // rotated entries of a head; dims / 2 frequencies
  std::vector<float> frequencies;  // f_i, computed in double, rounded once
  float magnitude = 1;
};

struct StateInfo {
  enum class Kind : uint8_t { cache, latents, index, last, matrix };
  std::string name;  // "kv[3]"
  Kind kind = Kind::cache;
  int64_t n = 0, d_k = 0, d_v = 0;  // last(n, d): n and d_k; latents(d, d_v): n = 1
  int64_t block = 0;  // one entry per complete block of so many positions; 0: one per position
  int layer = -1;     // the index between the brackets
};

// Where the elements of a bound part lie: [rows, columns], or a stack of n such matrices.
struct PartData {
  const Weight* weight = nullptr;  // the (first) tensor, for names and messages
  DType dtype = DType::f32;
  std::vector<int64_t> shape;  // the circuit's, in numbers
  // Byte offsets in Model::bytes(): one for shapes of up to two lengths; one for each matrix of a
  // stack (which may be separate tensors, or a range of rows within each matrix of a packed one).
  std::vector<int64_t> offsets;
};

struct BoundPart {
  std::string name;    // "attn_q"
  int layer = -1;      // -1 outside `each`
  std::string tensor;  // its name in the file; "blk.3.attn_qkv.weight[0:576]" for a range of a pack
  PartData data;
  std::unique_ptr<PartData> bias;
  // What a number format carries beside the weight, F32: [1], or [n] of a stack of n matrices. The
  // product is multiplied by it before the bias is added.
  std::unique_ptr<PartData> scale;
  std::string role;  // "" or query key value out gate up down keep
};

struct BoundDim {
  std::string name;
  std::string value;   // printed: "576", "rotary(pairs, 64 of 64, base 100000)"
  std::string source;  // "llama.embedding_length", "computed"
  int line = 0;
};

struct Binding {
  std::shared_ptr<const Circuit> circuit;
  std::shared_ptr<const Model> model;
  std::vector<BoundDim> dims;
  std::vector<BoundPart> parts;
  std::vector<StateInfo> states;
  std::vector<Rotary> rotaries;
  std::vector<std::string>
      warnings;  // keys that nobody reads, with their values; whatever else a person should hear
  std::vector<std::string> keys_read, keys_ignored, tensors_ignored;
  int64_t n_vocab = 0, n_layers = 0,
          d_model = 0;  // of the dims of these names, 0 if the circuit has none

  const BoundPart* find(std::string_view part, int layer) const;

  // The evaluator behind walk_flow(): conditions and lengths of flows with this file's keys. It
  // remembers what it computes, so that two walks of one binding may not run at the same time.
  std::shared_ptr<Dims> dims_values;
};

}  // namespace etch
