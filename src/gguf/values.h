// Values of a GGUF file's metadata, as views into the mapping. Nothing is copied; arrays of texts
// are decoded when somebody walks them (a vocabulary of 260,000 tokens costs nothing until a
// tokenizer is made).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etch {

enum class ValueType : uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64
};
std::string_view name(ValueType type);  // "u8", ..., "bool", "string", "array"
int64_t scalar_bytes(ValueType type);   // 0 for strings and arrays

// One metadata value (a graph has `Value`s of its own, hence the name). Checked by read_gguf: every
// length lies inside the file.
struct KeyValue {
  ValueType type = ValueType::u8;
  ValueType element = ValueType::u8;  // of an array
  int64_t count = 1;                  // of an array
  bool swapped = false;               // the file has the other byte order
  bool narrow = false;                // lengths inside are 32 bits wide (version 1)
  bool trim_nul = false;           // versions 1 and 2: one trailing NUL does not belong to a text
  std::span<const uint8_t> bytes;  // a scalar's bytes, a text's bytes, or all elements of an array

  bool is_number() const {
    return type != ValueType::string && type != ValueType::array && type != ValueType::boolean;
  }
  bool is_integer() const {
    return is_number() && type != ValueType::f32 && type != ValueType::f64;
  }
  std::optional<int64_t> integer() const;  // integers that fit; booleans are none
  std::optional<uint64_t> unsigned_integer() const;
  std::optional<double> real() const;  // any number
  std::optional<bool> truth() const;   // boolean (any non-zero byte is true)
  std::optional<std::string_view> text() const;

  // Elements of an array of numbers or booleans; nothing outside 0 <= i < count.
  std::span<const uint8_t> element_bytes(int64_t i) const;
  std::optional<double> real_at(int64_t i) const;
  std::optional<int64_t> integer_at(int64_t i) const;
  // Calls f for each text of an array of strings, in order.
  void each_text(const std::function<void(int64_t i, std::string_view text)>& f) const;

  std::string print(
      int64_t max_elements = 4) const;  // for people: 12, 'text', [1, 2, ... 30 entries]
};

}  // namespace etch
