// binding.json: the pinout. Which number every dim has and where it comes from, what became of
// every key and every tensor of the file, and for every part the tensor and the bytes it lies in.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/utf8.h"
#include "circuit/ast.h"
#include "study/sidecar_parts.h"

namespace etch {
namespace {

using nlohmann::ordered_json;

int64_t bytes_of(const PartData& data) {
  int64_t elements = 1;
  for (const int64_t n : data.shape) elements *= n;
  const DTypeInfo& type = info(data.dtype);
  return elements / type.block_elements * type.block_bytes;
}

ordered_json data_json(const PartData& data) {
  ordered_json j;
  if (data.weight) j["tensor"] = exact_text(data.weight->name);
  j["type"] = name(data.dtype);
  j["shape"] = data.shape;
  j["bytes"] = bytes_of(data);
  if (data.offsets.size() == 1)
    j["offset"] = data.offsets[0];
  else
    j["offsets"] = data.offsets;
  return j;
}

ordered_json part_json(const BoundPart& part) {
  ordered_json j = {{"part", part.name}};
  if (part.layer >= 0) j["layer"] = part.layer;
  ordered_json data = data_json(part.data);
  data["tensor"] = exact_text(part.tensor);  // with the range of a pack
  j.update(data);
  if (!part.role.empty()) j["role"] = part.role;
  if (part.bias) j["bias"] = data_json(*part.bias);
  if (part.scale) j["scale"] = data_json(*part.scale);
  return j;
}

// What reads a key of the file: the circuit, the vocabulary, or nobody.
class KeyUses {
 public:
  explicit KeyUses(const Binding& binding)
      : read_(binding.keys_read.begin(), binding.keys_read.end()),
        ignored_(binding.keys_ignored.begin(), binding.keys_ignored.end()),
        prefix_(std::string(binding.model->architecture()) + ".") {}

  std::string_view use(const Key& key) const {
    if (read_.contains(std::string(key.name))) return "read";
    if (ignored_.contains(std::string(key.name))) return "ignored";
    if (key.name == "general.architecture") return "match";
    if (key.name.starts_with("tokenizer.")) return "text";
    if (key.name.starts_with(prefix_)) {
      const std::string_view rest = key.name.substr(prefix_.size());
      if (rest == "context_length" || rest == "vocab_size" || rest == "decoder_start_token_id")
        return "engine";
      return "left over";
    }
    return "description";
  }

 private:
  std::set<std::string> read_, ignored_;
  std::string prefix_;
};

ordered_json key_json(const Key& key, std::string_view use) {
  const KeyValue& v = key.value;
  const std::string type = v.type == ValueType::array ? fmt::format("array of {}", name(v.element))
                                                      : std::string(name(v.type));
  return {{"key", exact_text(key.name)}, {"type", type}, {"value", v.print(8)}, {"use", use}};
}

ordered_json state_json(const StateInfo& s) {
  constexpr std::string_view kKinds[] = {"cache", "latents", "index", "last", "matrix"};
  ordered_json j = {{"state", s.name},
                    {"kind", kKinds[static_cast<size_t>(s.kind)]},
                    {"n", s.n},
                    {"d_k", s.d_k},
                    {"d_v", s.d_v}};
  if (s.block > 0) j["block"] = s.block;
  if (s.layer >= 0) j["layer"] = s.layer;
  return j;
}

}  // namespace

std::string print_binding_json(const Binding& binding) {
  ordered_json j;
  j["schema"] = "etch.binding/1";
  j["circuit"] = {{"name", binding.circuit->name.text},
                  {"revision", binding.circuit->revision},
                  {"file", binding.circuit->file}};
  j["architecture"] = exact_text(binding.model->architecture());
  j["dims"] = ordered_json::array();
  for (const BoundDim& d : binding.dims)
    j["dims"].push_back(
        {{"dim", d.name}, {"value", d.value}, {"source", d.source}, {"line", d.line}});
  j["rotaries"] = ordered_json::array();
  int64_t first = 0;  // in rope.bin
  for (const Rotary& r : binding.rotaries) {
    j["rotaries"].push_back({{"dim", r.name},
                             {"layout", name(r.layout)},
                             {"dims", r.dims},
                             {"magnitude", r.magnitude},
                             {"first", first},
                             {"count", r.frequencies.size()}});
    first += std::ssize(r.frequencies);
  }
  j["states"] = ordered_json::array();
  for (const StateInfo& s : binding.states) j["states"].push_back(state_json(s));
  j["parts"] = ordered_json::array();
  for (const BoundPart& p : binding.parts) j["parts"].push_back(part_json(p));
  j["keys"] = ordered_json::array();
  const KeyUses uses(binding);
  for (const Key& k : binding.model->file->keys) j["keys"].push_back(key_json(k, uses.use(k)));
  j["tensors_ignored"] = ordered_json::array();
  for (const std::string& t : binding.tensors_ignored)
    j["tensors_ignored"].push_back(exact_text(t));
  j["warnings"] = binding.warnings;
  return file_text(j);
}

std::string rope_bytes(const Binding& binding) {
  std::string bytes;
  for (const Rotary& r : binding.rotaries)
    bytes.append(reinterpret_cast<const char*>(r.frequencies.data()),
                 r.frequencies.size() * sizeof(float));
  return bytes;
}

std::string file_text(const ordered_json& json) {
  return json.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

ordered_json exact_text(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string hex;
  for (const char c : text) hex += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return {{"hex", hex}};
}

}  // namespace etch
