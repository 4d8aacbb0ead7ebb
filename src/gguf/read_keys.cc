// The keys of a header and their values.
#include <algorithm>

#include "base/utf8.h"
#include "gguf/header_reader.h"

namespace etch {
namespace {

constexpr int kMaxArrayDepth = 4;
constexpr uint64_t kMaxKeyBytes = 65535;

}  // namespace

Status HeaderReader::read_key(uint64_t i, uint64_t n_keys) {
  const uint64_t start = reader_.pos();
  Key key;
  key.name = read_name();
  const uint32_t type = reader_.read<uint32_t>();
  ETCH_TRY(check_ended(fmt::format("key {} of {}", i + 1, n_keys)));
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorKind::damaged, "key {} of {} at offset {}, {}: {}", i + 1, n_keys, start,
                quote(key.name), why);
  };
  if (key.name.empty()) return refuse("a key may not be empty");
  if (key.name.find('\0') != std::string_view::npos) return refuse("a key may not hold a NUL");
  if (!is_utf8(key.name)) return refuse("a key must be UTF-8");
  if (!key_names_.insert(key.name).second)
    return refuse("this key came before; a key may stand only once");
  warn_of_odd_key(key.name);
  if (!is_type(type)) return refuse(fmt::format("value type {}; types are 0 to 12", type));
  key.value.type = static_cast<ValueType>(type);
  ETCH_TRY(read_value(key.value).context(fmt::format("key {}", quote(key.name))));
  key.offset = part_offset_ + static_cast<int64_t>(start);
  key.bytes = static_cast<int64_t>(reader_.pos() - start);
  out_.keys.push_back(key);
  return {};
}

void HeaderReader::warn_of_odd_key(std::string_view name) {
  const auto odd = [](char c) {
    return !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-');
  };
  if (std::any_of(name.begin(), name.end(), odd)) {
    out_.warnings.add("a key is not made of lower-case words joined by dots", quote(name));
  }
  if (name.size() > kMaxKeyBytes)
    out_.warnings.add("a key is longer than 65535 bytes", quote(name));
}

bool HeaderReader::is_type(uint32_t type) const {
  const auto last = out_.part.version == 1 ? ValueType::array : ValueType::f64;
  return type <= static_cast<uint32_t>(last);
}

Status HeaderReader::read_value(KeyValue& value) {
  value.swapped = out_.part.big_endian;
  value.narrow = narrow_;
  value.trim_nul = out_.part.version < 3;
  if (value.type == ValueType::string) {
    value.bytes = reader_.run(read_count());
    ETCH_TRY(check_ended("its text"));
    if (!is_utf8(*value.text())) out_.warnings.add("a text is not UTF-8", quote(*value.text()));
    return {};
  }
  if (value.type == ValueType::array) return read_array(value);
  value.bytes = reader_.run(static_cast<uint64_t>(scalar_bytes(value.type)));
  ETCH_TRY(check_ended("its value"));
  if (value.type == ValueType::boolean && value.bytes[0] > 1) {
    out_.warnings.add("a bool is neither 0 nor 1 (and counts as true)",
                      fmt::format("{}", value.bytes[0]));
  }
  return {};
}

Status HeaderReader::read_array(KeyValue& value) {
  const auto [element, count] = ETCH_TRY(read_array_head());
  value.element = element;
  value.count = count;
  ByteReader start = reader_;
  ETCH_TRY(skip_elements(element, count, 1));
  value.bytes = start.run(reader_.pos() - start.pos());
  return {};
}

Result<HeaderReader::ArrayHead> HeaderReader::read_array_head() {
  const uint64_t at = reader_.pos();
  const uint32_t element = reader_.read<uint32_t>();
  const uint64_t count = read_count();
  ETCH_TRY(check_ended("its element type and length"));
  if (!is_type(element)) {
    return fail(ErrorKind::damaged, "element type {} at offset {}; types are 0 to 12", element, at);
  }
  const auto type = static_cast<ValueType>(element);
  uint64_t least = static_cast<uint64_t>(scalar_bytes(type));
  if (type == ValueType::string) least = count_bytes();
  if (type == ValueType::array) least = 4 + count_bytes();
  if (count > reader_.left() / least) {
    return fail(ErrorKind::damaged,
                "an array of {} {} values at offset {} cannot lie in the {} bytes left\n"
                "  either this is an interrupted download, or the length is damaged",
                count, name(type), at, grouped(reader_.left()));
  }
  return ArrayHead{type, static_cast<int64_t>(count)};
}

Status HeaderReader::skip_elements(ValueType element, int64_t count, int depth) {
  if (element == ValueType::string) {
    for (int64_t i = 0; i < count && reader_.ok(); ++i) reader_.skip(read_count());
    return check_ended("a text of the array");
  }
  if (element == ValueType::array) {
    if (depth == kMaxArrayDepth) {
      return fail(ErrorKind::damaged, "arrays inside arrays more than {} deep at offset {}",
                  kMaxArrayDepth, reader_.pos());
    }
    for (int64_t i = 0; i < count; ++i) {
      const auto [inner, inner_count] = ETCH_TRY(read_array_head());
      ETCH_TRY(skip_elements(inner, inner_count, depth + 1));
    }
    return {};
  }
  reader_.skip(static_cast<uint64_t>(count) *
               static_cast<uint64_t>(scalar_bytes(element)));  // fits: read_array_head
  return check_ended("its elements");
}

}  // namespace etch
