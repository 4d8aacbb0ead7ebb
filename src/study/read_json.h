// Fields of JSON that somebody else may have written: the value, or an error that names the field.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace etch {

inline tl::unexpected<Error> wrong_field(std::string_view key, std::string_view expected) {
  return fail(ErrorKind::damaged, "field '{}' is missing or not {}", key, expected);
}

inline Result<nlohmann::json> parse_json(std::string_view text, std::string_view schema) {
  auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object())
    return fail(ErrorKind::damaged, "not a JSON object");
  const auto at = json.find("schema");
  if (at == json.end() || !at->is_string() || at->get<std::string>() != schema)
    return fail(ErrorKind::damaged, "the schema is not \"{}\"", schema);
  return json;
}

inline Result<std::string> text_field(const nlohmann::json& json, const char* key) {
  const auto at = json.is_object() ? json.find(key) : json.end();
  if (!json.is_object() || at == json.end() || !at->is_string()) return wrong_field(key, "a text");
  return at->get<std::string>();
}

inline Result<int64_t> integer_field(const nlohmann::json& json, const char* key) {
  const auto at = json.is_object() ? json.find(key) : json.end();
  if (!json.is_object() || at == json.end() || !at->is_number_integer())
    return wrong_field(key, "a whole number");
  return at->get<int64_t>();
}

inline Result<const nlohmann::json*> list_field(const nlohmann::json& json, const char* key) {
  const auto at = json.is_object() ? json.find(key) : json.end();
  if (!json.is_object() || at == json.end() || !at->is_array()) return wrong_field(key, "a list");
  return &*at;
}

inline Result<const nlohmann::json*> object_field(const nlohmann::json& json, const char* key) {
  const auto at = json.is_object() ? json.find(key) : json.end();
  if (!json.is_object() || at == json.end() || !at->is_object())
    return wrong_field(key, "an object");
  return &*at;
}

inline Result<std::vector<std::string>> texts_field(const nlohmann::json& json, const char* key) {
  const nlohmann::json* list = ETCH_TRY(list_field(json, key));
  std::vector<std::string> texts;
  for (const auto& t : *list) {
    if (!t.is_string()) return wrong_field(key, "a list of texts");
    texts.push_back(t.get<std::string>());
  }
  return texts;
}

}  // namespace etch
