// One part of a file: its header read and checked against its own bytes. read_gguf joins the parts.
#pragma once

#include <string_view>
#include <vector>

#include "base/mapping.h"
#include "base/result.h"
#include "gguf/gguf_file.h"
#include "gguf/warnings.h"

namespace etch {

struct PartContents {
  GgufFile::Part part;
  std::vector<Key> keys;
  std::vector<TensorInfo> tensors;  // offsets are those of the mapping already
  Warnings warnings;

  const KeyValue* find_key(std::string_view name) const;
};

Result<PartContents> read_part(const Mapping& mapping, int part);

// The places of the tensors, once all are known: aligned, inside the file, nowhere overlapping.
// `offset` of each tensor comes relative to the part's data and leaves as that of the mapping.
Status check_layout(PartContents& contents, int64_t part_offset);

}  // namespace etch
