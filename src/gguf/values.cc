#include "gguf/values.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "base/bytes.h"
#include "base/utf8.h"

namespace etch {
namespace {

struct ValueTypeInfo {
  std::string_view name;
  int64_t bytes;  // of a scalar; 0: as long as it says itself
};
constexpr ValueTypeInfo kValueTypes[] = {
    {"u8", 1},   {"i8", 1},     {"u16", 2},   {"i16", 2}, {"u32", 4}, {"i32", 4}, {"f32", 4},
    {"bool", 1}, {"string", 0}, {"array", 0}, {"u64", 8}, {"i64", 8}, {"f64", 8}};

std::optional<double> read_real(ValueType type, ByteReader r) {
  double v = 0;
  switch (type) {
    case ValueType::u8:
    case ValueType::boolean:
      v = r.read<uint8_t>();
      break;
    case ValueType::i8:
      v = r.read<int8_t>();
      break;
    case ValueType::u16:
      v = r.read<uint16_t>();
      break;
    case ValueType::i16:
      v = r.read<int16_t>();
      break;
    case ValueType::u32:
      v = r.read<uint32_t>();
      break;
    case ValueType::i32:
      v = r.read<int32_t>();
      break;
    case ValueType::f32:
      v = r.read<float>();
      break;
    case ValueType::u64:
      v = static_cast<double>(r.read<uint64_t>());
      break;
    case ValueType::i64:
      v = static_cast<double>(r.read<int64_t>());
      break;
    case ValueType::f64:
      v = r.read<double>();
      break;
    case ValueType::string:
    case ValueType::array:
      return std::nullopt;
  }
  if (!r.ok()) return std::nullopt;
  return v;
}

// Any integer as its 64 bits, and whether they are to be read as unsigned.
struct Integer {
  uint64_t bits;
  bool is_unsigned;
};
std::optional<Integer> read_integer(ValueType type, ByteReader r) {
  Integer v{0, false};
  switch (type) {
    case ValueType::u8:
    case ValueType::boolean:
      v = {r.read<uint8_t>(), true};
      break;
    case ValueType::u16:
      v = {r.read<uint16_t>(), true};
      break;
    case ValueType::u32:
      v = {r.read<uint32_t>(), true};
      break;
    case ValueType::u64:
      v = {r.read<uint64_t>(), true};
      break;
    case ValueType::i8:
      v.bits = static_cast<uint64_t>(int64_t{r.read<int8_t>()});
      break;
    case ValueType::i16:
      v.bits = static_cast<uint64_t>(int64_t{r.read<int16_t>()});
      break;
    case ValueType::i32:
      v.bits = static_cast<uint64_t>(int64_t{r.read<int32_t>()});
      break;
    case ValueType::i64:
      v.bits = static_cast<uint64_t>(r.read<int64_t>());
      break;
    case ValueType::f32:
    case ValueType::f64:
    case ValueType::string:
    case ValueType::array:
      return std::nullopt;
  }
  if (!r.ok()) return std::nullopt;
  return v;
}

std::optional<int64_t> as_signed(std::optional<Integer> v) {
  if (!v || (v->is_unsigned && v->bits > static_cast<uint64_t>(INT64_MAX))) return std::nullopt;
  return static_cast<int64_t>(v->bits);
}

std::string_view without_nul(std::string_view text, bool trim_nul) {
  const bool one = text.ends_with('\0') && !text.substr(0, text.size() - 1).ends_with('\0');
  return trim_nul && one ? text.substr(0, text.size() - 1) : text;
}

std::string print_number(ValueType type, std::span<const uint8_t> bytes, bool swapped) {
  const ByteReader r(bytes, swapped);
  if (type == ValueType::boolean)
    return read_integer(type, r).value_or(Integer{}).bits != 0 ? "true" : "false";
  if (type == ValueType::f32) return fmt::format("{}", ByteReader(r).read<float>());
  if (type == ValueType::f64) return fmt::format("{}", ByteReader(r).read<double>());
  const auto v = read_integer(type, r);
  if (!v) return "?";
  return v->is_unsigned ? fmt::format("{}", v->bits)
                        : fmt::format("{}", static_cast<int64_t>(v->bits));
}

}  // namespace

std::string_view name(ValueType type) {
  const auto i = static_cast<uint32_t>(type);
  return i < std::size(kValueTypes) ? kValueTypes[i].name : "unknown";
}

int64_t scalar_bytes(ValueType type) {
  const auto i = static_cast<uint32_t>(type);
  return i < std::size(kValueTypes) ? kValueTypes[i].bytes : 0;
}

std::optional<int64_t> KeyValue::integer() const {
  return is_integer() ? as_signed(read_integer(type, ByteReader(bytes, swapped))) : std::nullopt;
}

std::optional<uint64_t> KeyValue::unsigned_integer() const {
  if (!is_integer()) return std::nullopt;
  const auto v = read_integer(type, ByteReader(bytes, swapped));
  if (!v || (!v->is_unsigned && static_cast<int64_t>(v->bits) < 0)) return std::nullopt;
  return v->bits;
}

std::optional<double> KeyValue::real() const {
  return is_number() ? read_real(type, ByteReader(bytes, swapped)) : std::nullopt;
}

std::optional<bool> KeyValue::truth() const {
  if (type != ValueType::boolean || bytes.empty()) return std::nullopt;
  return bytes[0] != 0;
}

std::optional<std::string_view> KeyValue::text() const {
  if (type != ValueType::string) return std::nullopt;
  return without_nul({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, trim_nul);
}

std::span<const uint8_t> KeyValue::element_bytes(int64_t i) const {
  const int64_t width = scalar_bytes(element);
  if (type != ValueType::array || width == 0 || i < 0 || i >= count) return {};
  if (i >= static_cast<int64_t>(bytes.size()) / width) return {};
  return bytes.subspan(static_cast<size_t>(i * width), static_cast<size_t>(width));
}

std::optional<double> KeyValue::real_at(int64_t i) const {
  return read_real(element, ByteReader(element_bytes(i), swapped));
}

std::optional<int64_t> KeyValue::integer_at(int64_t i) const {
  return as_signed(read_integer(element, ByteReader(element_bytes(i), swapped)));
}

void KeyValue::each_text(const std::function<void(int64_t, std::string_view)>& f) const {
  if (type != ValueType::array || element != ValueType::string) return;
  ByteReader r(bytes, swapped);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t length = narrow ? r.read<uint32_t>() : r.read<uint64_t>();
    const std::string_view text = r.text(length);
    if (!r.ok()) return;
    f(i, without_nul(text, trim_nul));
  }
}

std::string KeyValue::print(int64_t max_elements) const {
  if (const auto t = text()) return quote(*t);
  if (type != ValueType::array) return print_number(type, bytes, swapped);
  std::string out = "[";
  const int64_t shown = std::min(count, std::max<int64_t>(max_elements, 0));
  const auto add = [&](std::string_view element_text) {
    if (out.size() > 1) out += ", ";
    out += element_text;
  };
  ByteReader r(bytes, swapped);
  for (int64_t i = 0; i < shown; ++i) {
    if (element == ValueType::string) {
      const auto t = r.text(narrow ? r.read<uint32_t>() : r.read<uint64_t>());
      add(quote(without_nul(t, trim_nul)));
    } else if (element == ValueType::array) {
      add("[...]");
    } else {
      add(print_number(element, element_bytes(i), swapped));
    }
  }
  if (shown < count) add(fmt::format("... {} entries", count));
  return out + "]";
}

}  // namespace etch
