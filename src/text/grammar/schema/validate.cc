// Whether a value fits a schema, by the words of the standard: which of the values of an `enum` are
// left, and which arms of a `oneOf` they fit.
#include <algorithm>
#include <cmath>

#include "text/grammar/schema/schema.h"
#include "text/utf8.h"

namespace etch::schema {

namespace {

constexpr int kMaxDepth = 100;

int64_t count_chars(std::string_view text) {
  int64_t n = 0;
  for (const char c : text) n += (c & 0xC0) != 0x80;
  return n;
}

bool is_integer(const Json& value) {
  if (value.is_number_integer()) return true;
  return value.is_number_float() && std::floor(value.get<double>()) == value.get<double>();
}

}  // namespace

Result<bool> Compiler::is_valid(const Json& value, NodeId node, int depth) {
  const Json& json = document_.json(node);
  if (depth > kMaxDepth) return refuse(node, "", "its values cannot be checked: it nests too deep");
  if (json.is_boolean()) return json.get<bool>();
  ETCH_TRY(check_keywords(node));
  const uint8_t type = type_of(value);
  if (json.contains("type")) {
    bool fits = false;
    for (const Json& name : json["type"].is_array() ? json["type"] : Json::array({json["type"]})) {
      fits |= name == "integer"   ? value.is_number() && is_integer(value)
              : name == "number"  ? value.is_number()
              : name == "null"    ? value.is_null()
              : name == "boolean" ? value.is_boolean()
              : name == "string"  ? value.is_string()
              : name == "array"   ? value.is_array()
                                  : value.is_object();
    }
    if (!fits) return false;
  }
  if (json.contains("const") && json["const"] != value) return false;
  if (json.contains("enum") &&
      std::find(json["enum"].begin(), json["enum"].end(), value) == json["enum"].end())
    return false;
  if (json.contains("excluded")) {
    const Json& inner = json["excluded"];
    if (inner.contains("const") && inner["const"] == value) return false;
    if (inner.contains("enum") &&
        std::find(inner["enum"].begin(), inner["enum"].end(), value) != inner["enum"].end())
      return false;
    if (inner.contains("pattern") && value.is_string() &&
        ETCH_TRY(pattern_machine(inner["pattern"].get<std::string>(), node, true))
            .accepts(value.get<std::string>()))
      return false;
  }
  if (type == Type::number) {
    const Decimal d = ETCH_TRY(decimal_of(value));
    const auto order = [&](const char* key) -> Result<int> {
      return compare(d, ETCH_TRY(decimal_of(json[key])));
    };
    if (json.contains("minimum") && ETCH_TRY(order("minimum")) < 0) return false;
    if (json.contains("maximum") && ETCH_TRY(order("maximum")) > 0) return false;
    if (json.contains("exclusiveMinimum") && ETCH_TRY(order("exclusiveMinimum")) <= 0) return false;
    if (json.contains("exclusiveMaximum") && ETCH_TRY(order("exclusiveMaximum")) >= 0) return false;
    if (json.contains("multipleOf")) {
      const double quotient = value.get<double>() / json["multipleOf"].get<double>();
      if (std::floor(quotient) != quotient) return false;
    }
  }
  if (type == Type::string) {
    const std::string text = value.get<std::string>();
    if (json.contains("minLength") &&
        static_cast<double>(count_chars(text)) < json["minLength"].get<double>())
      return false;
    if (json.contains("maxLength") &&
        static_cast<double>(count_chars(text)) > json["maxLength"].get<double>())
      return false;
    Facets f;
    if (json.contains("pattern")) f.patterns.emplace_back(json["pattern"].get<std::string>(), node);
    if (json.contains("format") && !may_skip("format"))
      f.formats.emplace_back(json["format"].get<std::string>(), node);
    if ((!f.patterns.empty() || !f.formats.empty()) && !ETCH_TRY(string_machine(f)).accepts(text))
      return false;
  }
  if (type == Type::array && !ETCH_TRY(is_valid_array(value, node, depth))) return false;
  if (type == Type::object && !ETCH_TRY(is_valid_object(value, node, depth))) return false;

  if (json.contains("$ref") &&
      !ETCH_TRY(is_valid(value, ETCH_TRY(document_.referred(node)), depth + 1)))
    return false;
  for (const std::string_view keyword : {"allOf", "anyOf", "oneOf"}) {
    if (!json.contains(keyword)) continue;
    size_t n_fit = 0;
    const size_t n = json[std::string(keyword)].size();
    for (size_t i = 0; i < n; ++i)
      n_fit += ETCH_TRY(is_valid(value, document_.child(node, keyword, i), depth + 1));
    if (keyword == "allOf" ? n_fit != n : keyword == "anyOf" ? n_fit == 0 : n_fit != 1)
      return false;
  }
  if (json.contains("not") && ETCH_TRY(is_valid(value, document_.child(node, "not"), depth + 1)))
    return false;
  if (json.contains("if")) {
    const bool holds = ETCH_TRY(is_valid(value, document_.child(node, "if"), depth + 1));
    const char* then = holds ? "then" : "else";
    if (json.contains(then) && !ETCH_TRY(is_valid(value, document_.child(node, then), depth + 1)))
      return false;
  }
  return true;
}

Result<bool> Compiler::is_valid_array(const Json& value, NodeId node, int depth) {
  const Json& json = document_.json(node);
  const auto size = static_cast<double>(value.size());
  if (json.contains("minItems") && size < json["minItems"].get<double>()) return false;
  if (json.contains("maxItems") && size > json["maxItems"].get<double>()) return false;
  Facets f;
  f.nodes = {node};
  for (size_t i = 0; i < value.size(); ++i) {
    for (const NodeId item : item_schema(f, static_cast<int64_t>(i))) {
      if (!ETCH_TRY(is_valid(value[i], item, depth + 1))) return false;
    }
  }
  if (json.contains("uniqueItems") && json["uniqueItems"].get<bool>()) {
    for (size_t i = 0; i < value.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (value[i] == value[j]) return false;
      }
    }
  }
  if (json.contains("contains")) {
    double n = 0;
    for (const Json& item : value)
      n += ETCH_TRY(is_valid(item, document_.child(node, "contains"), depth + 1));
    if (n < (json.contains("minContains") ? json["minContains"].get<double>() : 1)) return false;
    if (json.contains("maxContains") && n > json["maxContains"].get<double>()) return false;
  }
  return true;
}

Result<bool> Compiler::is_valid_object(const Json& value, NodeId node, int depth) {
  const Json& json = document_.json(node);
  const auto size = static_cast<double>(value.size());
  if (json.contains("minProperties") && size < json["minProperties"].get<double>()) return false;
  if (json.contains("maxProperties") && size > json["maxProperties"].get<double>()) return false;
  if (json.contains("required")) {
    for (const Json& name : json["required"]) {
      if (!value.contains(name.get<std::string>())) return false;
    }
  }
  if (json.contains("unevaluatedProperties") && !json["unevaluatedProperties"].get<bool>())
    return refuse(node, "unevaluatedProperties", "cannot be enforced for given values");
  Facets f;
  f.nodes = {node};
  for (const auto& [name, item] : value.items()) {
    const auto schema = ETCH_TRY(property_schema(f, name));
    if (!schema) return false;
    for (const NodeId s : *schema) {
      if (!ETCH_TRY(is_valid(item, s, depth + 1))) return false;
    }
    if (json.contains("propertyNames") &&
        !ETCH_TRY(is_valid(Json(name), document_.child(node, "propertyNames"), depth + 1)))
      return false;
    if (json.contains("dependentRequired") && json["dependentRequired"].contains(name)) {
      for (const Json& other : json["dependentRequired"][name]) {
        if (!value.contains(other.get<std::string>())) return false;
      }
    }
    if (json.contains("dependentSchemas") && json["dependentSchemas"].contains(name) &&
        !ETCH_TRY(is_valid(value, document_.child(node, "dependentSchemas", name), depth + 1)))
      return false;
  }
  return true;
}

}  // namespace etch::schema
