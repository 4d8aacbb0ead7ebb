#include "gguf/read_part.h"

#include <algorithm>

#include "gguf/header_reader.h"

namespace etch {

const KeyValue* PartContents::find_key(std::string_view name) const {
  for (const Key& key : keys) {
    if (key.name == name) return &key.value;
  }
  return nullptr;
}

Result<PartContents> read_part(const Mapping& mapping, int index) {
  const Mapping::Part& place = mapping.parts()[static_cast<size_t>(index)];
  const std::span<const uint8_t> bytes = mapping.part_bytes(index);
  PartContents contents;
  contents.part.path = place.path;
  contents.part.file_bytes = place.bytes;
  ETCH_TRY(HeaderReader(bytes, place.offset, contents).read().context(place.path));
  ETCH_TRY(check_layout(contents, place.offset).context(place.path));
  for (TensorInfo& t : contents.tensors) t.part = index;

  const auto header = static_cast<size_t>(contents.part.header_bytes);
  const auto data = static_cast<size_t>(std::min(contents.part.data_offset, place.bytes));
  const auto padding = bytes.subspan(header, data - header);
  if (std::any_of(padding.begin(), padding.end(), [](uint8_t b) { return b != 0; })) {
    contents.warnings.add("the padding behind the header is not zero", place.path);
  }
  return contents;
}

}  // namespace etch
