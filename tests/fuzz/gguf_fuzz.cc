// Any bytes as a GGUF file: read or refused with a message; what is read can be walked, made into a
// model, decoded, and written again to a file that says the same.
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "gguf/gguf_file.h"
#include "gguf/write_gguf.h"
#include "model/model.h"

namespace etch {
namespace {

std::shared_ptr<Mapping> mapping_of(std::span<const uint8_t> bytes) {
  return std::make_shared<Mapping>(Mapping::of_memory(bytes));
}

std::vector<std::string> walk_keys(const GgufFile& file) {
  std::vector<std::string> lines;
  for (const Key& key : file.keys) {
    ETCH_CHECK(file.find_key(key.name) == &key.value, "{}", key.name);
    lines.push_back(std::string(key.name) + " = " + key.value.print(8));
    int64_t n_texts = 0;
    size_t length = 0;
    key.value.each_text([&](int64_t i, std::string_view text) {
      ETCH_CHECK(i == n_texts, "texts come in order");
      ++n_texts;
      length += text.size();
    });
    const bool texts = key.value.type == ValueType::array && key.value.element == ValueType::string;
    ETCH_CHECK(n_texts == (texts ? key.value.count : 0), "{} texts of {}", n_texts,
               key.value.count);
    ETCH_CHECK(length <= key.value.bytes.size(), "texts lie in their array");
    for (int64_t i = -1; i < std::min<int64_t>(key.value.count, 8) + 1; ++i) {
      (void)key.value.real_at(i);
      (void)key.value.integer_at(i);
    }
  }
  return lines;
}

void walk_tensors(const GgufFile& file) {
  for (const TensorInfo& t : file.tensors) {
    ETCH_CHECK(file.find_tensor(t.name) == &t, "{}", t.name);
    const auto data = file.data(t);
    ETCH_CHECK(static_cast<int64_t>(data.size()) == t.bytes, "{} bytes", t.bytes);
    volatile uint8_t sink = 0;
    if (!data.empty()) sink = data.front() ^ data.back();
    (void)sink;
  }
}

void decode_blocks(const Model& model) {
  for (const Weight& w : model.weights) {
    const DTypeInfo& type = info(w.dtype);
    if (type.decode == nullptr || w.bytes == 0) continue;
    std::vector<float> x(static_cast<size_t>(type.block_elements));
    type.decode(model.data(w).data(), x.data(), type.block_elements);
  }
}

// The writer is stricter than the reader, so it may refuse; what it writes must read the same.
void write_again(const GgufFile& file, const std::vector<std::string>& keys,
                 const WriteOptions& options) {
  if (file.parts[0].big_endian) return;  // data of such files are turned by read_model
  GgufContents contents;
  for (const Key& key : file.keys) contents.set(key.name, key.value);
  for (const TensorInfo& t : file.tensors)
    contents.add_tensor(t.name, t.dtype, t.dims, file.data(t));
  const auto bytes = gguf_bytes(contents, options);
  if (!bytes) return;
  const auto again = read_gguf(mapping_of(*bytes));
  ETCH_CHECK(again.has_value(), "{}", again.error().message);
  ETCH_CHECK(walk_keys(*again) == keys, "keys changed");
  ETCH_CHECK(again->tensors.size() == file.tensors.size(), "tensors changed");
  for (size_t i = 0; i < file.tensors.size(); ++i) {
    const TensorInfo &a = file.tensors[i], &b = again->tensors[i];
    ETCH_CHECK(a.name == b.name && a.dims == b.dims && a.dtype == b.dtype && a.bytes == b.bytes,
               "{} changed", a.name);
    if (options.big_endian) continue;
    const auto x = file.data(a), y = again->data(b);
    ETCH_CHECK(std::equal(x.begin(), x.end(), y.begin(), y.end()), "data of {} changed", a.name);
  }
}

}  // namespace
}  // namespace etch

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace etch;
  auto file = read_gguf(mapping_of({data, size}));
  if (!file) {
    ETCH_CHECK(!file.error().message.empty(), "a refusal says why");
    ETCH_CHECK(
        file.error().kind == ErrorKind::damaged || file.error().kind == ErrorKind::unsupported,
        "{}", file.error().message);
    return 0;
  }
  const std::vector<std::string> keys = walk_keys(*file);
  walk_tensors(*file);
  write_again(*file, keys, {});
  write_again(*file, keys, {.big_endian = true});
  const auto model = read_model(std::move(*file));
  ETCH_CHECK(model.has_value(), "{}", model.error().message);
  (void)model->architecture();
  (void)model->arch_key("block_count");
  decode_blocks(*model);
  return 0;
}
