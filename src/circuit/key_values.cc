#include "circuit/key_values.h"

#include <cmath>

namespace etch {
namespace {

// Patterns have an entry per layer; a vocabulary is no pattern.
constexpr int64_t kMostEntries = 1 << 16;

}  // namespace

Result<DimValue> value_of_key(const KeyValue& value, const std::string& full_name) {
  DimValue v;
  if (value.type == ValueType::string) {
    v = DimValue::of_text(std::string(value.text().value_or("")));
  } else if (value.type == ValueType::boolean) {
    v = DimValue::of_truth(value.truth().value_or(false));
  } else if (value.type == ValueType::array) {
    v.kind = DimValue::Kind::list;
    if (value.count > kMostEntries)
      return fail(ErrorKind::damaged, "key '{}' has {} entries, at most {} make sense here",
                  full_name, value.count, kMostEntries);
    const bool texts = value.element == ValueType::string;
    if (texts) {
      value.each_text([&](int64_t, std::string_view text) {
        v.items.push_back(DimValue::of_text(std::string(text)));
      });
    } else if (value.element == ValueType::array) {
      return fail(ErrorKind::damaged, "key '{}' is a list of lists", full_name);
    } else {
      for (int64_t i = 0; i < value.count; ++i) {
        const auto whole = value.integer_at(i);
        const auto real = value.real_at(i);
        if (!whole && !real)
          return fail(ErrorKind::damaged, "key '{}': entry {} cannot be read", full_name, i);
        if (value.element == ValueType::boolean)
          v.items.push_back(DimValue::of_truth(whole ? *whole != 0 : *real != 0));
        else if (whole && value.element != ValueType::f32 && value.element != ValueType::f64)
          v.items.push_back(DimValue::of(*whole));
        else if (std::isfinite(*real))
          v.items.push_back(DimValue::of_real(*real));
        else
          return fail(ErrorKind::damaged, "key '{}': entry {} is {}", full_name, i, *real);
      }
    }
    for (DimValue& item : v.items) item.source = full_name;
  } else if (value.is_integer()) {
    const auto whole = value.integer();
    if (!whole)
      return fail(ErrorKind::damaged, "key '{}' = {} is too large", full_name,
                  value.unsigned_integer().value_or(0));
    v = DimValue::of(*whole);
  } else {
    const auto real = value.real();
    if (!real || !std::isfinite(*real))
      return fail(ErrorKind::damaged, "key '{}' = {} is no number", full_name, real.value_or(0));
    v = DimValue::of_real(*real);
  }
  v.source = full_name;
  return v;
}

}  // namespace etch
