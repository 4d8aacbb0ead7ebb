// Objects: the known properties in the order of the schema, each optional one there or not, then
// others where the schema allows them.
//
//   a graph:   (nothing yet) --a--> (something) --,b--> (something) --,other--> ...
//                   |                    |
//              without a            without b
#include <algorithm>

#include "text/grammar/schema/schema.h"

namespace etch::schema {

namespace {

constexpr size_t kMaxPatterns = 6;
constexpr int64_t kMaxCounted = 64;  // of minProperties and maxProperties

bool has(const Json& json, const char* keyword) {
  return json.is_object() && json.contains(keyword);
}

}  // namespace

// All that must hold for a property; none where it must not be there.
Result<std::optional<Conjunction>> Compiler::property_schema(const Facets& f,
                                                             const std::string& name) {
  Conjunction all;
  bool is_evaluated = false, must_be = false;
  for (const NodeId node : f.nodes) {
    const Json& json = document_.json(node);
    if (!json.is_object()) continue;
    bool is_named = false;
    if (has(json, "properties") && json["properties"].contains(name)) {
      all.push_back(document_.child(node, "properties", name));
      is_named = true;
    }
    if (has(json, "patternProperties")) {
      for (const auto& [pattern, schema] : json["patternProperties"].items()) {
        if (!ETCH_TRY(pattern_machine(pattern, node, true)).accepts(name)) continue;
        all.push_back(document_.child(node, "patternProperties", pattern));
        is_named = true;
      }
    }
    if (!is_named && has(json, "additionalProperties")) {
      all.push_back(document_.child(node, "additionalProperties"));
      is_named = true;
    }
    is_evaluated |= is_named;
    must_be |= has(json, "unevaluatedProperties") && json["unevaluatedProperties"] == Json(false);
  }
  if (must_be && !is_evaluated) return std::optional<Conjunction>();
  for (const NodeId node : all) {
    if (document_.json(node) == Json(false)) return std::optional<Conjunction>();
  }
  return std::optional(joined(std::move(all), {}));
}

// The names beyond those that are known, in groups with the same schema.
Result<std::vector<Compiler::ExtraKeys>> Compiler::extra_keys(
    const Facets& f, const std::vector<std::string>& names) {
  std::vector<std::pair<CharMachine, NodeId>> patterns;
  bool has_additional = false, says_something = false;
  for (const NodeId node : f.nodes) {
    const Json& json = document_.json(node);
    if (!json.is_object()) continue;
    has_additional |= has(json, "additionalProperties");
    says_something |= has(json, "properties") || has(json, "patternProperties") ||
                      has(json, "additionalProperties") || has(json, "unevaluatedProperties");
    if (!has(json, "patternProperties")) continue;
    for (const auto& [pattern, schema] : json["patternProperties"].items())
      patterns.emplace_back(ETCH_TRY(pattern_machine(pattern, node, true)),
                            document_.child(node, "patternProperties", pattern));
  }
  if (patterns.size() > kMaxPatterns)
    return refuse(f.nodes.front(), "patternProperties", "more than {} patterns", kMaxPatterns);
  CharMachine others = complement(machine_of_texts(names));
  for (const NodeId node : f.nodes) {
    if (!has(document_.json(node), "propertyNames")) continue;
    others =
        ETCH_TRY(both(others, ETCH_TRY(names_machine({document_.child(node, "propertyNames")}))));
  }
  std::vector<ExtraKeys> groups;
  for (uint32_t matched = 0; matched < (1u << patterns.size()); ++matched) {
    // Names that no pattern matches are made only where the schema speaks of them, or of nothing.
    if (matched == 0 && !has_additional && says_something) continue;
    ExtraKeys group{others, {}};
    for (size_t i = 0; i < patterns.size(); ++i) {
      const bool is_matched = (matched >> i) & 1;
      group.names = ETCH_TRY(
          both(group.names, is_matched ? patterns[i].first : complement(patterns[i].first)));
      if (is_matched) group.schema.push_back(patterns[i].second);
    }
    if (group.names.is_empty()) continue;
    // What a schema says of additional ones holds where none of its own patterns matches.
    for (const NodeId node : f.nodes) {
      const Json& json = document_.json(node);
      if (!has(json, "additionalProperties")) continue;
      bool own_matches = false;
      for (size_t i = 0; i < patterns.size(); ++i) {
        own_matches |= ((matched >> i) & 1) && has(json, "patternProperties") &&
                       document_.pointer(patterns[i].second)
                           .starts_with(document_.pointer(node) + "/patternProperties/");
      }
      if (!own_matches) group.schema.push_back(document_.child(node, "additionalProperties"));
    }
    group.schema = joined(std::move(group.schema), {});
    if (std::any_of(group.schema.begin(), group.schema.end(),
                    [&](NodeId n) { return document_.json(n) == Json(false); }))
      continue;
    groups.push_back(std::move(group));
  }
  return groups;
}

Result<ExpressionId> Compiler::object_expression(const Facets& f) {
  for (const Json& value : f.excluded) {
    if (value.is_object())
      return refuse(f.nodes.front(), "not", "one object cannot be left out of many");
  }
  std::vector<std::string> names;
  for (const NodeId node : f.nodes) {
    if (!has(document_.json(node), "properties")) continue;
    for (const auto& [name, schema] : document_.json(node)["properties"].items()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  for (const std::string& name : f.required) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  const std::vector<ExtraKeys> extra = ETCH_TRY(extra_keys(f, names));
  const bool counts = f.min_properties > 0 || f.max_properties >= 0;
  if (names.empty() && !counts && extra.size() == 1 && extra[0].schema.empty() &&
      std::none_of(f.nodes.begin(), f.nodes.end(),
                   [&](NodeId n) { return has(document_.json(n), "propertyNames"); }))
    return any_object();

  // Rows of the graph: how many there are so far, as far as that matters. Without counts, 0 or
  // more.
  const int64_t n_names = std::ssize(names);
  int64_t least = f.min_properties, most = f.max_properties;
  const int64_t most_possible = n_names + (extra.empty() ? 0 : 1);
  if (least > most_possible) {
    if (extra.empty()) return grammar_.choice({});
    return refuse(f.nodes.front(), "minProperties",
                  "{} can only be made sure of with that many named properties: others might have "
                  "one name twice",
                  least);
  }
  if (most > n_names && extra.empty()) most = -1;
  if (std::max(least, most) > kMaxCounted)
    return refuse(f.nodes.front(), most > kMaxCounted ? "maxProperties" : "minProperties",
                  "more than {} cannot be counted", kMaxCounted);
  const int64_t n_rows = std::max({int64_t{1}, least, most}) + 1;
  const bool is_bounded = most >= 0;
  ExpressionGraph graph;
  const auto node = [&](int64_t place, int64_t row) {
    return static_cast<int32_t>(place * n_rows + row);
  };
  // place n_names: behind the named ones; n_names + 1: with others behind them
  graph.final.assign(static_cast<size_t>((n_names + 2) * n_rows), false);
  const auto add_member = [&](int64_t from_place, int64_t to_place, bool is_counted,
                              ExpressionId key, ExpressionId value) {
    const ExpressionId member = grammar_.sequence({key, grammar_.text(":"), space(), value});
    for (int64_t row = 0; row < n_rows; ++row) {
      int64_t next = is_counted ? row + 1 : std::max<int64_t>(row, 1);
      if (next >= n_rows) {
        if (is_bounded) continue;
        next = n_rows - 1;
      }
      const ExpressionId label =
          row == 0 ? member : grammar_.sequence({grammar_.text(","), space(), member});
      graph.edges.push_back({node(from_place, row), node(to_place, next), label});
    }
  };
  for (int64_t i = 0; i < n_names; ++i) {
    const std::string& name = names[static_cast<size_t>(i)];
    auto schema = ETCH_TRY(property_schema(f, name));
    for (const NodeId n : f.nodes) {
      if (schema && has(document_.json(n), "propertyNames") &&
          !ETCH_TRY(is_valid(Json(name), document_.child(n, "propertyNames"))))
        schema.reset();
    }
    const bool is_required =
        std::find(f.required.begin(), f.required.end(), name) != f.required.end();
    if (!is_required) {
      const ExpressionId nothing = grammar_.text("");
      for (int64_t row = 0; row < n_rows; ++row)
        graph.edges.push_back({node(i, row), node(i + 1, row), nothing});
    }
    if (!schema) continue;
    add_member(i, i + 1, true, grammar_.text(json_text(Json(name))),
               grammar_.call(ETCH_TRY(rule_of(*schema))));
  }
  for (const ExtraKeys& group : extra) {
    const ExpressionId key = grammar_.sequence(
        {grammar_.text("\""), grammar_.machine(group.names, true), grammar_.text("\"")});
    const int32_t value = ETCH_TRY(rule_of(group.schema));
    add_member(n_names, n_names + 1, true, key, grammar_.call(value));
    // Further ones may repeat a name: they count against the most, but not for the least.
    if (is_bounded && least > 0) {
      // Rows cannot count both ways at once: one further member is all there is.
      continue;
    }
    add_member(n_names + 1, n_names + 1, is_bounded, key, grammar_.call(value));
  }
  for (int64_t row = least; row < n_rows; ++row) {
    graph.final[static_cast<size_t>(node(n_names, row))] = true;
    graph.final[static_cast<size_t>(node(n_names + 1, row))] = true;
  }
  return grammar_.sequence(
      {grammar_.text("{"), space(), grammar_.graph(std::move(graph)), space(), grammar_.text("}")});
}

}  // namespace etch::schema
