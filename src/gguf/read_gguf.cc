#include <algorithm>
#include <iterator>

#include "base/utf8.h"
#include "gguf/gguf_file.h"
#include "gguf/read_part.h"
#include "gguf/split_set.h"

namespace etch {
namespace {

void index_keys(GgufFile& file) {
  for (size_t i = 0; i < file.keys.size(); ++i)
    file.key_index.emplace(file.keys[i].name, static_cast<int>(i));
}

// A name may stand once in the whole set.
Status index_tensors(GgufFile& file) {
  file.tensor_index.reserve(file.tensors.size());
  for (size_t i = 0; i < file.tensors.size(); ++i) {
    const TensorInfo& t = file.tensors[i];
    const auto [at, inserted] = file.tensor_index.emplace(t.name, static_cast<int>(i));
    if (inserted) continue;
    const TensorInfo& first = file.tensors[static_cast<size_t>(at->second)];
    return fail(ErrorKind::damaged,
                "{}: tensor {} stands twice: descriptors at offset {} and, in {}, at {}",
                file.parts[static_cast<size_t>(t.part)].path, quote(t.name), t.info_offset,
                file.parts[static_cast<size_t>(first.part)].path, first.info_offset);
  }
  return {};
}

}  // namespace

const KeyValue* GgufFile::find_key(std::string_view name) const {
  const auto at = key_index.find(name);
  return at == key_index.end() ? nullptr : &keys[static_cast<size_t>(at->second)].value;
}

const TensorInfo* GgufFile::find_tensor(std::string_view name) const {
  const auto at = tensor_index.find(name);
  return at == tensor_index.end() ? nullptr : &tensors[static_cast<size_t>(at->second)];
}

Result<GgufFile> read_gguf(std::shared_ptr<Mapping> mapping) {
  std::vector<PartContents> parts;
  for (size_t i = 0; i < mapping->parts().size(); ++i) {
    parts.push_back(ETCH_TRY(read_part(*mapping, static_cast<int>(i))));
  }
  if (parts.size() > 1) ETCH_TRY(check_split_set(parts));

  GgufFile file;
  file.mapping = std::move(mapping);
  file.keys = std::move(parts[0].keys);
  for (PartContents& part : parts) {
    file.parts.push_back(part.part);
    std::move(part.tensors.begin(), part.tensors.end(), std::back_inserter(file.tensors));
    for (std::string& line : part.warnings.lines()) file.warnings.push_back(std::move(line));
  }
  index_keys(file);
  ETCH_TRY(index_tensors(file));
  return file;
}

Result<GgufFile> read_gguf(const std::string& path, const ReadOptions& options) {
  GgufFile file = ETCH_TRY(read_gguf(std::make_shared<Mapping>(ETCH_TRY(Mapping::open(path)))));
  if (!options.whole_set) return file;
  const std::vector<std::string> set = ETCH_TRY(paths_of_split_set(file));
  if (set.size() <= 1) return file;
  return read_gguf(std::make_shared<Mapping>(ETCH_TRY(Mapping::open_all(set))));
}

}  // namespace etch
