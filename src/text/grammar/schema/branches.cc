// What a conjunction may mean: its branches, and the facets of one.
#include <algorithm>

#include "base/utf8.h"
#include "text/grammar/schema/schema.h"

namespace etch::schema {

namespace {

constexpr size_t kMaxBranches = 512;

enum class Treatment { enforced, structural, annotation, refused };
struct Keyword {
  std::string_view name;
  Treatment treatment;
  std::string_view types;
};
constexpr Keyword kKeywords[] = {
#define KEYWORD(name, treatment, types) {#name, Treatment::treatment, types},
#include "text/grammar/schema/keywords.def"
#undef KEYWORD
};

const Keyword* find_keyword(std::string_view name) {
  for (const Keyword& k : kKeywords) {
    if (k.name == name) return &k;
  }
  return nullptr;
}

uint8_t type_named(std::string_view name) {
  constexpr std::pair<std::string_view, uint8_t> kTypes[] = {
      {"null", Type::null},      {"boolean", Type::boolean}, {"number", Type::number},
      {"integer", Type::number}, {"string", Type::string},   {"array", Type::array},
      {"object", Type::object}};
  for (const auto& [known, type] : kTypes) {
    if (known == name) return type;
  }
  return 0;
}

// Every branch of one with every branch of the other.
Result<std::vector<Conjunction>> crossed(const std::vector<Conjunction>& a,
                                         const std::vector<Conjunction>& b,
                                         const std::string& pointer) {
  if (a.size() * b.size() > kMaxBranches) {
    return fail(ErrorKind::unsupported, "{}: more than {} combinations of alternatives", pointer,
                kMaxBranches);
  }
  std::vector<Conjunction> all;
  for (const Conjunction& x : a) {
    for (const Conjunction& y : b) all.push_back(joined(x, y));
  }
  return all;
}

}  // namespace

bool Compiler::may_skip(std::string_view keyword) const {
  return std::find(options_.unenforced.begin(), options_.unenforced.end(), keyword) !=
         options_.unenforced.end();
}

Status Compiler::check_keywords(NodeId node) {
  const Json& json = document_.json(node);
  if (document_.is_made(node) || !vetted_.insert(node).second) return {};
  if (!json.is_object())
    return error(ErrorKind::damaged, node, "", "a schema is an object, true or false, not {}",
                 quote(json_text(json)));
  const auto wants = [&](std::string_view keyword, bool is_good, std::string_view what) -> Status {
    if (is_good) return {};
    return error(ErrorKind::damaged, node, keyword, "expected {}, found {}", what,
                 quote(json_text(json[std::string(keyword)])));
  };
  for (const auto& [key, value] : json.items()) {
    const Keyword* known = find_keyword(key);
    if (known == nullptr && key.starts_with("x-")) continue;
    if (may_skip(key)) continue;
    if (known == nullptr) {
      return refuse(node, key, "there is no such keyword in the draft 2020-12");
    }
    if (known->treatment == Treatment::refused) return refuse(node, key, "cannot be enforced");
    for (const std::string_view count :
         {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
          "minContains", "maxContains"}) {
      // A whole number, also written 3.0; past a billion nothing is that long.
      if (key == count)
        ETCH_TRY(wants(key,
                       value.is_number() && value.get<double>() >= 0 &&
                           value.get<double>() <= 1e9 &&
                           value.get<double>() ==
                               static_cast<double>(static_cast<int64_t>(value.get<double>())),
                       "a whole number from 0"));
    }
    for (const std::string_view number :
         {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}) {
      if (key == number) ETCH_TRY(wants(key, value.is_number(), "a number"));
    }
    for (const std::string_view list : {"allOf", "anyOf", "oneOf"}) {
      if (key == list)
        ETCH_TRY(wants(key, value.is_array() && !value.empty(), "a list of schemas"));
    }
    for (const std::string_view object :
         {"properties", "patternProperties", "dependentRequired", "dependentSchemas"}) {
      if (key == object) ETCH_TRY(wants(key, value.is_object(), "an object"));
    }
    for (const std::string_view text : {"pattern", "format"}) {
      if (key == text) ETCH_TRY(wants(key, value.is_string(), "a text"));
    }
    const auto is_names = [](const Json& list) {
      return list.is_array() && std::all_of(list.begin(), list.end(),
                                            [](const Json& name) { return name.is_string(); });
    };
    if (key == "required") ETCH_TRY(wants(key, is_names(value), "a list of names"));
    if (key == "dependentRequired") {
      for (const auto& names : value) ETCH_TRY(wants(key, is_names(names), "lists of names"));
    }
    if (key == "enum") ETCH_TRY(wants(key, value.is_array(), "a list of values"));
    if (key == "prefixItems") ETCH_TRY(wants(key, value.is_array(), "a list of schemas"));
    if (key == "multipleOf")
      ETCH_TRY(wants(key, value.is_number() && value.get<double>() > 0, "a number above 0"));
    if (key == "uniqueItems") ETCH_TRY(wants(key, value.is_boolean(), "true or false"));
    if (key == "type") {
      const Json list = value.is_array() ? value : Json::array({value});
      for (const Json& name : list) {
        ETCH_TRY(wants(key, name.is_string() && type_named(name.get<std::string>()) != 0,
                       "null, boolean, integer, number, string, array or object"));
      }
    }
    // What holds for values that no other keyword has seen. No such values are made, unless these
    // keywords say something about them.
    if ((key == "unevaluatedProperties" || key == "unevaluatedItems") && !value.is_boolean())
      return refuse(node, key, "only true and false can be enforced");
  }
  return {};
}

Result<Compiler::Branches> Compiler::expand(const Conjunction& all) {
  Branches branches{{}};
  for (const NodeId node : all)
    branches = ETCH_TRY(crossed(branches, ETCH_TRY(expand_node(node)), document_.pointer(node)));
  return branches;
}

Result<Compiler::Branches> Compiler::expand_any(NodeId node, std::string_view keyword) {
  Branches any;
  for (size_t i = 0; i < document_.json(node)[std::string(keyword)].size(); ++i) {
    for (Conjunction& c : ETCH_TRY(expand_node(document_.child(node, keyword, i))))
      any.push_back(std::move(c));
  }
  return any;
}

Result<Compiler::Branches> Compiler::expand_node(NodeId node) {
  const Json& json = document_.json(node);
  if (json.is_boolean()) return json.get<bool>() ? Branches{{node}} : Branches{};
  if (checked_.insert(node).second) {
    ETCH_TRY(check_keywords(node));
    if (json.contains("oneOf")) ETCH_TRY(check_one_of(node));
  }
  if (expanding_.size() > 200) return refuse(node, "", "refers to others more than 200 deep");
  if (!expanding_.insert(node).second)
    return refuse(node, "", "refers to itself with nothing in between");
  const auto rest = [&]() -> Result<Branches> {
    Branches branches{{node}};
    const auto cross = [&](Result<Branches> more) -> Status {
      branches = ETCH_TRY(crossed(branches, ETCH_TRY(std::move(more)), document_.pointer(node)));
      return {};
    };
    if (json.contains("$ref")) ETCH_TRY(cross(expand_node(ETCH_TRY(document_.referred(node)))));
    if (json.contains("allOf")) {
      for (size_t i = 0; i < json["allOf"].size(); ++i)
        ETCH_TRY(cross(expand_node(document_.child(node, "allOf", i))));
    }
    for (const std::string_view any : {"anyOf", "oneOf"}) {
      if (json.contains(any)) ETCH_TRY(cross(expand_any(node, any)));
    }
    if (json.contains("dependentRequired")) {
      for (const auto& [name, others] : json["dependentRequired"].items()) {
        Json required = others;
        required.push_back(name);
        const NodeId absent = document_.made(node, {{"properties", {{name, false}}}});
        const NodeId with = document_.made(node, {{"required", required}});
        ETCH_TRY(cross(Branches{{absent}, {with}}));
      }
    }
    if (json.contains("dependentSchemas")) {
      for (const auto& [name, schema] : json["dependentSchemas"].items()) {
        const NodeId absent = document_.made(node, {{"properties", {{name, false}}}});
        const NodeId with = document_.made(node, {{"required", Json::array({name})}});
        Branches ways = ETCH_TRY(expand_node(document_.child(node, "dependentSchemas", name)));
        for (Conjunction& c : ways) c = joined(std::move(c), {with});
        ways.push_back({absent});
        ETCH_TRY(cross(std::move(ways)));
      }
    }
    if (json.contains("if") && (json.contains("then") || json.contains("else"))) {
      const NodeId condition = document_.child(node, "if");
      Branches holds = ETCH_TRY(expand_node(condition)), fails = ETCH_TRY(negate(condition));
      if (json.contains("then"))
        holds = ETCH_TRY(crossed(holds, ETCH_TRY(expand_node(document_.child(node, "then"))),
                                 document_.pointer(node)));
      if (json.contains("else"))
        fails = ETCH_TRY(crossed(fails, ETCH_TRY(expand_node(document_.child(node, "else"))),
                                 document_.pointer(node)));
      holds.insert(holds.end(), fails.begin(), fails.end());
      ETCH_TRY(cross(std::move(holds)));
    }
    if (json.contains("not")) ETCH_TRY(cross(negate(document_.child(node, "not"))));
    return branches;
  }();
  expanding_.erase(node);
  return rest;
}

// Not all of what a schema says: one thing that it says does not hold. What is no facet of its own
// becomes {"not": {...}} with one keyword, which facets_of knows.
Result<Compiler::Branches> Compiler::negate(NodeId node) {
  const Json& json = document_.json(node);
  if (json.is_boolean())
    return json.get<bool>() ? Branches{} : Branches{{document_.made(node, Json::object())}};
  ETCH_TRY(check_keywords(node));
  Branches any;
  const auto add = [&](Json schema) { any.push_back({document_.made(node, std::move(schema))}); };
  const auto add_all = [&](Branches more) { any.insert(any.end(), more.begin(), more.end()); };
  for (const auto& [key, value] : json.items()) {
    const Keyword* known = find_keyword(key);
    if (known == nullptr || known->treatment == Treatment::structural ||
        known->treatment == Treatment::annotation)
      continue;
    const auto count = [&value = value] { return static_cast<int64_t>(value.get<double>()); };
    if (key == "type") {
      uint8_t types = 0;
      bool integer = false, number = false;
      for (const Json& name : value.is_array() ? value : Json::array({value})) {
        types |= type_named(name.get<std::string>());
        integer |= name == "integer";
        number |= name == "number";
      }
      if (integer && !number) return refuse(node, "type", "'no integer' cannot be enforced");
      Json others = Json::array();
      for (const char* name : {"null", "boolean", "number", "string", "array", "object"}) {
        if (!(types & type_named(name))) others.push_back(name);
      }
      if (!others.empty()) add({{"type", others}});
    } else if (key == "const" || key == "enum" || key == "pattern") {
      Json inner = Json::object();
      inner[key] = value;
      Json outer = {{"excluded", inner}};
      if (key == "pattern") outer["type"] = "string";
      add(outer);
    } else if (key == "minimum") {
      add({{"type", "number"}, {"exclusiveMaximum", value}});
    } else if (key == "maximum") {
      add({{"type", "number"}, {"exclusiveMinimum", value}});
    } else if (key == "exclusiveMinimum") {
      add({{"type", "number"}, {"maximum", value}});
    } else if (key == "exclusiveMaximum") {
      add({{"type", "number"}, {"minimum", value}});
    } else if (key == "minLength") {
      if (count() > 0) add({{"type", "string"}, {"maxLength", count() - 1}});
    } else if (key == "maxLength") {
      add({{"type", "string"}, {"minLength", count() + 1}});
    } else if (key == "minItems") {
      if (count() > 0) add({{"type", "array"}, {"maxItems", count() - 1}});
    } else if (key == "maxItems") {
      add({{"type", "array"}, {"minItems", count() + 1}});
    } else if (key == "required") {
      for (const Json& name : value)
        add({{"type", "object"}, {"properties", {{name.get<std::string>(), false}}}});
    } else if (key == "properties") {
      for (const auto& [name, schema] : value.items()) {
        if (schema == Json(true) || schema == Json::object()) continue;
        const NodeId has = document_.made(node, {{"type", "object"},
                                                 {"required", Json::array({name})},
                                                 {"properties", {{name, {{"not", schema}}}}}});
        any.push_back({has});
      }
    } else if (key == "anyOf" || key == "oneOf") {
      if (key == "oneOf") ETCH_TRY(check_one_of(node));  // else more than one may hold
      Branches none{{}};
      for (size_t i = 0; i < value.size(); ++i)
        none = ETCH_TRY(crossed(none, ETCH_TRY(negate(document_.child(node, key, i))),
                                document_.pointer(node)));
      add_all(std::move(none));
    } else if (key == "allOf") {
      for (size_t i = 0; i < value.size(); ++i)
        add_all(ETCH_TRY(negate(document_.child(node, "allOf", i))));
    } else if (key == "not") {
      add_all(ETCH_TRY(expand_node(document_.child(node, "not"))));
    } else if (key == "$ref") {
      const NodeId target = ETCH_TRY(document_.referred(node));
      if (!expanding_.insert(-1 - target).second)
        return refuse(node, "", "refers to itself with nothing in between");
      auto negated = negate(target);
      expanding_.erase(-1 - target);
      add_all(ETCH_TRY(std::move(negated)));
    } else {
      return refuse(node, key, "that this does not hold cannot be enforced");
    }
    if (any.size() > kMaxBranches)
      return refuse(node, key, "more than {} combinations of alternatives", kMaxBranches);
  }
  return any;
}

Result<Facets> Compiler::facets_of(const Conjunction& branch) {
  Facets f;
  f.nodes = branch;
  for (const NodeId node : branch) {
    const Json& json = document_.json(node);
    if (!json.is_object()) continue;
    const auto count = [&](const char* key) {
      return static_cast<int64_t>(json[key].get<double>());
    };
    const auto at_most = [](int64_t& limit, int64_t n) {
      limit = limit < 0 ? n : std::min(limit, n);
    };
    const auto bound = [&](std::optional<Bound>& known, const char* key, bool exclusive,
                           int sign) -> Status {
      if (!json.contains(key)) return {};
      const Bound own{ETCH_TRY(decimal_of(json[key]).context(document_.pointer(node) + "/" + key)),
                      exclusive};
      const int order = known ? sign * compare(own.value, known->value) : 1;
      if (order > 0) known = own;
      if (order == 0) known->exclusive |= exclusive;
      return {};
    };
    for (const auto& [key, value] : json.items()) {
      const Keyword* known = find_keyword(key);
      if (known == nullptr || known->types.empty() || may_skip(key)) continue;
      f.implied |= type_named(known->types);
    }
    if (json.contains("type")) {
      uint8_t types = 0;
      bool integer = false, number = false;
      for (const Json& name :
           json["type"].is_array() ? json["type"] : Json::array({json["type"]})) {
        types |= type_named(name.get<std::string>());
        integer |= name == "integer";
        number |= name == "number";
      }
      f.types &= types;
      f.integers_only |= integer && !number;
    }
    const auto only = [&](std::vector<Json> own) {
      if (!f.values) {
        f.values = std::move(own);
        return;
      }
      std::erase_if(*f.values, [&](const Json& v) {
        return std::find(own.begin(), own.end(), v) == own.end();
      });
    };
    if (json.contains("enum")) only({json["enum"].begin(), json["enum"].end()});
    if (json.contains("const")) only({json["const"]});
    ETCH_TRY(bound(f.low, "minimum", false, 1));
    ETCH_TRY(bound(f.low, "exclusiveMinimum", true, 1));
    ETCH_TRY(bound(f.high, "maximum", false, -1));
    ETCH_TRY(bound(f.high, "exclusiveMaximum", true, -1));
    if (json.contains("multipleOf"))
      f.multiples.push_back(ETCH_TRY(decimal_of(json["multipleOf"])));
    if (json.contains("minLength")) f.min_length = std::max(f.min_length, count("minLength"));
    if (json.contains("maxLength")) at_most(f.max_length, count("maxLength"));
    if (json.contains("minItems")) f.min_items = std::max(f.min_items, count("minItems"));
    if (json.contains("maxItems")) at_most(f.max_items, count("maxItems"));
    if (json.contains("minProperties"))
      f.min_properties = std::max(f.min_properties, count("minProperties"));
    if (json.contains("maxProperties")) at_most(f.max_properties, count("maxProperties"));
    if (json.contains("pattern") && !may_skip("pattern"))
      f.patterns.emplace_back(json["pattern"].get<std::string>(), node);
    if (json.contains("format") && !may_skip("format"))
      f.formats.emplace_back(json["format"].get<std::string>(), node);
    if (json.contains("uniqueItems") && json["uniqueItems"].get<bool>() && !may_skip("uniqueItems"))
      f.unique_at = node;
    if (json.contains("required")) {
      for (const Json& name : json["required"]) {
        if (std::find(f.required.begin(), f.required.end(), name) == f.required.end())
          f.required.push_back(name.get<std::string>());
      }
    }
    if (json.contains("excluded")) {  // made by negate
      const Json& inner = json["excluded"];
      if (inner.contains("pattern"))
        f.excluded_patterns.emplace_back(inner["pattern"].get<std::string>(), node);
      if (inner.contains("const")) f.excluded.push_back(inner["const"]);
      if (inner.contains("enum"))
        f.excluded.insert(f.excluded.end(), inner["enum"].begin(), inner["enum"].end());
    }
  }
  return f;
}

Status Compiler::check_one_of(NodeId node) {
  const size_t n = document_.json(node)["oneOf"].size();
  if (may_skip("oneOf")) return {};
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      if (i == j) continue;
      // What is generated for arm i also fits the type that stands beside the arms.
      Conjunction a{document_.child(node, "oneOf", i)};
      if (document_.json(node).contains("type"))
        a = joined(std::move(a), {document_.made(node, {{"type", document_.json(node)["type"]}})});
      if (ETCH_TRY(are_disjoint(a, {document_.child(node, "oneOf", j)}, 0))) continue;
      return refuse(
          node, "oneOf",
          "a value could fit both arm {} and arm {}, and only one may hold; a required "
          "property with different constants would tell them apart, and anyOf lets both hold",
          std::min(i, j), std::max(i, j));
    }
  }
  return {};
}

}  // namespace etch::schema
