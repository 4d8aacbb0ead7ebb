#include "text/jinja/json_value.h"

#include "text/utf8.h"

namespace etch::jinja {

namespace {

constexpr int kDeepest = 200;

Value text_value(const std::string& text, bool outside) {
  MarkedText marked;
  marked.append(is_valid_utf8(text) ? text : replace_invalid_utf8(text), outside);
  return Value::text(std::move(marked));
}

// A role is joined with brackets to a control token by many templates: '<|' + role + '|>'. As a
// plain word it cannot hold one itself.
bool is_plain_word(const std::string& text) {
  if (text.empty() || text.size() > 64) return false;
  for (const char c : text) {
    if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_')
      return false;
  }
  return true;
}

}  // namespace

Result<Value> value_of_json(const nlohmann::ordered_json& json, bool outside, int depth) {
  if (depth > kDeepest) return fail(ErrorKind::unsupported, "JSON nested deeper than {}", kDeepest);
  switch (json.type()) {
    case nlohmann::json::value_t::null:
      return Value::none();
    case nlohmann::json::value_t::boolean:
      return Value::boolean(json.get<bool>());
    case nlohmann::json::value_t::number_integer:
      return Value::integer(json.get<int64_t>());
    case nlohmann::json::value_t::number_unsigned: {
      const uint64_t number = json.get<uint64_t>();
      if (number > static_cast<uint64_t>(INT64_MAX)) {
        return fail(ErrorKind::unsupported, "the number {} does not fit 64 bits", number);
      }
      return Value::integer(static_cast<int64_t>(number));
    }
    case nlohmann::json::value_t::number_float:
      return Value::real(json.get<double>());
    case nlohmann::json::value_t::string:
      return text_value(json.get_ref<const std::string&>(), outside);
    case nlohmann::json::value_t::array: {
      std::vector<Value> items;
      for (const auto& item : json)
        items.push_back(ETCH_TRY(value_of_json(item, outside, depth + 1)));
      return Value::list(std::move(items));
    }
    case nlohmann::json::value_t::object: {
      Dict dict;
      for (const auto& [key, item] : json.items()) {
        const bool is_role =
            key == "role" && item.is_string() && is_plain_word(item.get_ref<const std::string&>());
        dict.set(text_value(key, outside),
                 ETCH_TRY(value_of_json(item, outside && !is_role, depth + 1)));
      }
      return Value::dict(std::move(dict));
    }
    default:
      return fail(ErrorKind::unsupported, "a JSON value of an unknown kind");
  }
}

}  // namespace etch::jinja
