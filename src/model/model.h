// Model: the weights and keys of a file by name, for those who compute with them. A Weight's shape
// is in the order of circuits ([rows, columns], GGUF's order reversed); its data stay where they
// lie in the read-only mapping.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "dtypes/dtype.h"
#include "gguf/gguf_file.h"

namespace etch {

struct Weight {
  std::string name;  // "blk.0.attn_q.weight"
  DType dtype = DType::f32;
  std::vector<int64_t> shape;  // last axis contiguous
  int64_t offset = 0;          // in Model::bytes()
  int64_t bytes = 0;
};

class Model {
 public:
  std::vector<Weight> weights;  // in file order
  std::shared_ptr<const GgufFile> file;

  std::string_view architecture() const;  // "" if the file has none
  const Weight* find(std::string_view name) const;
  const KeyValue* key(std::string_view full_name) const;  // "llama.block_count"
  const KeyValue* arch_key(std::string_view name) const;  // "block_count" -> "<arch>.block_count"
  std::span<const uint8_t> bytes() const;                 // the whole mapping: base of every offset
  std::span<const uint8_t> data(const Weight& w) const {
    return bytes().subspan(static_cast<size_t>(w.offset), static_cast<size_t>(w.bytes));
  }

  std::unordered_map<std::string_view, int> index;  // made by read_model
};

// Files of the other byte order are mapped privately and their data swapped there (the only copy
// etch ever makes).
Result<Model> read_model(const std::string& path);
Result<Model> read_model(GgufFile file);

}  // namespace etch
