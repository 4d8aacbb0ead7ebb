#include <algorithm>

#include "dtypes/byte_order.h"
#include "gguf/warnings.h"
#include "model/model.h"

namespace etch {
namespace {

bool is_swapped(const GgufFile& file) {
  return std::any_of(file.parts.begin(), file.parts.end(),
                     [](const GgufFile::Part& p) { return p.big_endian; });
}

// The same file over private pages with the numbers of all big-endian tensors turned. Its keys stay
// as they are: a KeyValue knows its own order.
Result<GgufFile> to_native_order(const GgufFile& file) {
  GgufFile copy =
      ETCH_TRY(read_gguf(std::make_shared<Mapping>(ETCH_TRY(file.mapping->private_copy()))));
  uint8_t* bytes = copy.mapping->writable();
  Warnings warnings;
  for (const TensorInfo& t : copy.tensors) {
    if (!copy.parts[static_cast<size_t>(t.part)].big_endian) continue;
    swap_block_bytes(t.dtype, bytes + t.offset, t.bytes);
    if (!is_big_endian_proven(t.dtype)) {
      warnings.add("big-endian data of a type that no other program is known to write so",
                   name(t.dtype));
    }
  }
  for (std::string& line : warnings.lines()) copy.warnings.push_back(std::move(line));
  return copy;
}

Weight weight_of(const TensorInfo& t) {
  Weight w;
  w.name = t.name;
  w.dtype = t.dtype;
  w.shape.assign(t.dims.rbegin(), t.dims.rend());
  if (w.shape.empty()) w.shape = {1};
  w.offset = t.offset;
  w.bytes = t.bytes;
  return w;
}

}  // namespace

std::string_view Model::architecture() const {
  const KeyValue* value = key("general.architecture");
  return value != nullptr ? value->text().value_or("") : "";
}

const Weight* Model::find(std::string_view name) const {
  const auto at = index.find(name);
  return at == index.end() ? nullptr : &weights[static_cast<size_t>(at->second)];
}

const KeyValue* Model::key(std::string_view full_name) const { return file->find_key(full_name); }

const KeyValue* Model::arch_key(std::string_view name) const {
  return key(std::string(architecture()) + "." + std::string(name));
}

std::span<const uint8_t> Model::bytes() const { return file->mapping->bytes(); }

Result<Model> read_model(GgufFile file) {
  if (is_swapped(file)) file = ETCH_TRY(to_native_order(file));
  Model model;
  model.weights.reserve(file.tensors.size());
  for (const TensorInfo& t : file.tensors) {
    model.index.emplace(t.name, static_cast<int>(model.weights.size()));
    model.weights.push_back(weight_of(t));
  }
  model.file = std::make_shared<const GgufFile>(std::move(file));
  return model;
}

Result<Model> read_model(const std::string& path) { return read_model(ETCH_TRY(read_gguf(path))); }

}  // namespace etch
