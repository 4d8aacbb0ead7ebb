#include "compile/code_options.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>

#include "circuit/ast.h"
#include "circuit/parts.h"
#include "etch/model_abi.h"

namespace etch {
namespace {

using Lengths = std::map<std::string, std::vector<std::string>>;

// The declared shape of every part: "n_heads*d_head", "d_model". A name that is declared twice
// (for layers of two kinds) has the shape of its first declaration; who prints one checks its
// value.
Lengths declared_lengths(const Circuit& circuit) {
  Lengths lengths;
  for (const PartDeclaration& d : declarations(circuit)) {
    std::vector<std::string> shape;
    for (const ExprPtr& e : d.part->shape) shape.push_back(print(*e));
    lengths.try_emplace(d.part->name.text, std::move(shape));
  }
  return lengths;
}

std::vector<std::string> numbers(const std::vector<int64_t>& shape) {
  std::vector<std::string> texts;
  for (const int64_t n : shape) texts.push_back(fmt::format("{}", n));
  return texts;
}

void add_tensor(CodeOptions& options, const BoundPart& part, const PartData& data,
                const char* suffix, const Lengths& lengths) {
  if (data.offsets.empty()) return;
  const auto declared = lengths.find(part.name);
  CodeOptions::Tensor t;
  t.offset = data.offsets.front();
  t.name = *suffix == '\0' ? part.tensor : data.weight->name;
  t.part = part.name + suffix;
  t.layer = part.layer;
  t.dtype = std::string(name(data.dtype));
  t.shape = data.shape;
  t.lengths = declared != lengths.end() && declared->second.size() == data.shape.size()
                  ? declared->second
                  : numbers(data.shape);
  options.tensors.push_back(std::move(t));
}

}  // namespace

Result<CodeOptions> code_options_of(const Compiled& compiled, std::string etch_version) {
  const Binding& binding = *compiled.binding;
  const Model& model = *compiled.model;
  const GgufFile& file = *model.file;
  if (file.parts.size() != 1) {
    return fail(ErrorKind::unsupported,
                "the model is split into {} files; a library reads one\n  merge them first, or use "
                "`etch run MODEL`",
                file.parts.size());
  }
  if (file.mapping->writable() != nullptr) {
    return fail(ErrorKind::unsupported,
                "the file is of the other byte order; a library uses a file as it is\n  `etch run "
                "MODEL` swaps it when it loads");
  }
  CodeOptions options;
  options.etch_version = std::move(etch_version);
  options.file = std::filesystem::path(file.parts[0].path).filename().string();
  options.circuit = binding.circuit->file;
  const KeyValue* name = model.key("general.name");
  const auto text = name ? name->text() : std::nullopt;
  options.model = text && !text->empty() ? std::string(*text) : options.file;
  for (const BoundDim& d : binding.dims) {
    int64_t value = 0;
    const auto [end, problem] =
        std::from_chars(d.value.data(), d.value.data() + d.value.size(), value);
    if (problem != std::errc{} || end != d.value.data() + d.value.size()) continue;
    options.dims.push_back({d.name, value, d.source});
  }
  const Lengths lengths = declared_lengths(*binding.circuit);
  for (const BoundPart& p : binding.parts) {
    add_tensor(options, p, p.data, "", lengths);
    if (p.bias) add_tensor(options, p, *p.bias, "_bias", lengths);
    if (p.scale) add_tensor(options, p, *p.scale, "_scale", lengths);
  }
  // A part that stands in for another (`output else token_embd`) lies where that one does: the
  // first name is the tensor's own.
  std::stable_sort(options.tensors.begin(), options.tensors.end(),
                   [](const auto& a, const auto& b) { return a.offset < b.offset; });
  const auto bytes = file.mapping->part_bytes(0);  // the mapping itself ends with a page
  options.file_bytes = static_cast<int64_t>(bytes.size());
  options.header_bytes = std::min(file.parts[0].data_offset, options.file_bytes);
  options.file_sample = etch_sample(bytes.data(), options.file_bytes, options.header_bytes);
  return options;
}

}  // namespace etch
