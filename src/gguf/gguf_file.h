// GgufFile: a GGUF file, or a split set of them, as the bytes say: keys, tensor descriptors, no
// meaning. It owns the mapping; everything else holds views into it. Reading costs time and memory
// in proportion to the headers, never to the tensor data.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mapping.h"
#include "base/result.h"
#include "dtypes/dtype.h"
#include "gguf/values.h"

namespace etch {

struct Key {
  std::string_view name;
  KeyValue value;
  int64_t offset = 0;  // of the pair in the mapping
  int64_t bytes = 0;   // of the whole pair
};

struct TensorInfo {
  std::string_view name;
  DType dtype = DType::f32;
  std::vector<int64_t> dims;  // as stored: dims[0] is the row length, the contiguous axis
  int64_t elements = 0;
  int64_t bytes = 0;
  int64_t offset = 0;       // of the data in the mapping (parts of a split set have one range)
  int64_t info_offset = 0;  // of the descriptor
  int part = 0;             // of the split set
};

struct GgufFile {
  struct Part {
    std::string path;
    uint32_t version = 3;
    bool big_endian = false;
    int64_t alignment = 32;
    int64_t header_bytes = 0;  // up to the end of the last descriptor
    int64_t data_offset = 0;   // in the part's own file
    int64_t file_bytes = 0;
  };
  std::shared_ptr<Mapping> mapping;
  std::vector<Part> parts;  // one, or all of a split set in order
  std::vector<Key>
      keys;  // of the first part; the split.* keys of the others are checked and dropped
  std::vector<TensorInfo> tensors;
  std::vector<std::string>
      warnings;  // odd but readable: padding that is not zero, names of 64 bytes, ...

  const KeyValue* find_key(std::string_view name) const;
  const TensorInfo* find_tensor(std::string_view name) const;
  std::span<const uint8_t> data(const TensorInfo& t) const {
    return mapping->bytes().subspan(static_cast<size_t>(t.offset), static_cast<size_t>(t.bytes));
  }

  std::unordered_map<std::string_view, int> key_index, tensor_index;  // made by read_gguf
};

struct ReadOptions {
  bool whole_set =
      true;  // open the other parts of a split set too; false reads the one file as it is
};

// Reads any of GGUF v1, v2, v3 in either byte order. Any part names its whole set. Errors say
// offset, expected and actual; a truncated file is refused here, before anything runs.
Result<GgufFile> read_gguf(const std::string& path, const ReadOptions& options = {});
Result<GgufFile> read_gguf(
    std::shared_ptr<Mapping> mapping);  // the parts that are mapped, no others

}  // namespace etch
