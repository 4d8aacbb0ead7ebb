// GGUF files in memory in a few lines, for tests of everything that reads one:
//
//   test::TinyGguf tiny("llama");
//   tiny.contents().set("llama.block_count", 2u);
//   tiny.tensor("output.weight", DType::q4_0, {64, 8});           // random blocks
//   tiny.numbers("output_norm.weight", {1, 2, 3, 4});             // float32, one row
//   GgufFile file = tiny.file();                                  // or read_model(tiny.file())
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "dtypes/random_blocks.h"
#include "gguf/gguf_file.h"
#include "gguf/write_gguf.h"
#include "support/temporary_dir.h"

namespace etch::test {

// Bytes as a mapping that owns them.
inline std::shared_ptr<Mapping> mapping_of(std::vector<uint8_t> bytes,
                                           std::string name = "tiny.gguf") {
  struct Held {
    std::vector<uint8_t> bytes;
    Mapping mapping;
  };
  auto held = std::make_shared<Held>();
  held->bytes = std::move(bytes);
  held->mapping = Mapping::of_memory(held->bytes, std::move(name));
  return {held, &held->mapping};
}

class TinyGguf {
 public:
  explicit TinyGguf(std::string_view architecture = "llama", uint64_t seed = 1) : random_(seed) {
    if (!architecture.empty()) contents_.set("general.architecture", architecture);
  }
  GgufContents& contents() { return contents_; }

  // dims[0] is the row length.
  TinyGguf& tensor(std::string_view name, DType dtype, std::vector<int64_t> dims,
                   float magnitude = 0.1f) {
    const int64_t n = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
    return data(name, dtype, std::move(dims), random_blocks(dtype, random_, magnitude, n));
  }
  TinyGguf& numbers(std::string_view name, const std::vector<float>& values) {
    std::vector<uint8_t> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return data(name, DType::f32, {static_cast<int64_t>(values.size())}, std::move(bytes));
  }
  TinyGguf& data(std::string_view name, DType dtype, std::vector<int64_t> dims,
                 std::vector<uint8_t> bytes) {
    auto held =
        std::make_shared<const std::vector<uint8_t>>(std::move(bytes));  // copies of this share it
    contents_.tensors.push_back({std::string(name), dtype, std::move(dims),
                                 [held](const ByteSink& sink) { return sink(*held); }});
    return *this;
  }

  std::vector<uint8_t> bytes(const WriteOptions& options = {}) const {
    auto bytes = gguf_bytes(contents_, options);
    if (!bytes) ADD_FAILURE() << bytes.error().message;
    return bytes.value_or(std::vector<uint8_t>());
  }
  std::shared_ptr<Mapping> mapping(const WriteOptions& options = {}) const {
    return mapping_of(bytes(options));
  }
  GgufFile file(const WriteOptions& options = {}) const {
    auto file = read_gguf(mapping(options));
    if (!file) ADD_FAILURE() << file.error().message;
    return file.value();
  }
  std::string write(const TemporaryDir& dir, const std::string& name,
                    const WriteOptions& options = {}) const {
    const auto status = write_gguf(dir / name, contents_, options);
    if (!status) ADD_FAILURE() << status.error().message;
    return dir / name;
  }

 private:
  Random random_;
  GgufContents contents_;
};

}  // namespace etch::test
