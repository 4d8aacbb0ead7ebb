// Writes GGUF files in the strict layout every reader accepts: tensor data in the order of their
// descriptors, without gaps, each padded with zeros to the alignment. Tensor data are streamed, so
// that a file larger than memory can be written; it appears under its name when it is whole.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dtypes/dtype.h"
#include "gguf/gguf_file.h"
#include "gguf/values.h"

namespace etch {

// Takes the next bytes of what is being written.
using ByteSink = std::function<Status(std::span<const uint8_t>)>;

struct NewKey {
  std::string name;
  KeyValue value;  // of any byte order and version: writing translates it
  std::shared_ptr<const std::vector<uint8_t>>
      storage;  // what a new value's bytes lie in; null: they are a file's
};

struct NewTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> dims;                          // dims[0] is the row length
  std::function<Status(const ByteSink& sink)> write;  // gives all data in pieces, little endian
};

class GgufContents {
 public:
  std::vector<NewKey> keys;
  std::vector<NewTensor> tensors;

  // A key that is there already is replaced in its place.
  void set(std::string_view key, bool value);
  void set(std::string_view key, std::string_view text);
  void set(std::string_view key, const char* text) { set(key, std::string_view(text)); }
  template <class Number>
  requires(std::integral<Number> || std::floating_point<Number>) void set(std::string_view key,
                                                                          Number value) {
    set_numbers(key, value_type_of<Number>(), false, 1, &value, sizeof(Number));
  }
  template <class Number>
  requires(std::integral<Number> ||
           std::floating_point<Number>) void set(std::string_view key,
                                                 const std::vector<Number>& values) {
    set_numbers(key, value_type_of<Number>(), true, static_cast<int64_t>(values.size()),
                values.data(), values.size() * sizeof(Number));
  }
  void set(std::string_view key, const std::vector<bool>& values);
  void set(std::string_view key, const std::vector<std::string>& texts);
  void set(std::string_view key,
           const KeyValue& value);  // of a file that stays open until this is written

  // Data that lie in memory until this is written.
  void add_tensor(std::string_view name, DType dtype, std::vector<int64_t> dims,
                  std::span<const uint8_t> data);

 private:
  template <class Number>
  static constexpr ValueType value_type_of() {
    if constexpr (std::floating_point<Number>)
      return sizeof(Number) == 4 ? ValueType::f32 : ValueType::f64;
    constexpr bool is_signed = std::is_signed_v<Number>;
    switch (sizeof(Number)) {
      case 1:
        return is_signed ? ValueType::i8 : ValueType::u8;
      case 2:
        return is_signed ? ValueType::i16 : ValueType::u16;
      case 4:
        return is_signed ? ValueType::i32 : ValueType::u32;
      default:
        return is_signed ? ValueType::i64 : ValueType::u64;
    }
  }
  void set_numbers(std::string_view key, ValueType type, bool is_array, int64_t count,
                   const void* bytes, size_t size);
  void put(std::string_view key, KeyValue value, std::vector<uint8_t> bytes);
  NewKey& place_of(std::string_view key);
};

struct WriteOptions {
  uint32_t version = 3;     // 1 and 2 exist so that reading them can be tested
  bool big_endian = false;  // version 3 only; data of a tensor then pass through memory
  bool count_nul =
      false;  // versions 1 and 2: every text with a counted NUL, as a writer of those days did
};

Status write_gguf(const std::string& path, const GgufContents& contents,
                  const WriteOptions& options = {});
Result<std::vector<uint8_t>> gguf_bytes(const GgufContents& contents,
                                        const WriteOptions& options = {});

}  // namespace etch
