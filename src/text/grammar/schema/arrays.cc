// Arrays: items by their place, then all further ones alike.
#include <algorithm>

#include "text/grammar/schema/schema.h"

namespace etch::schema {

namespace {

constexpr int64_t kMaxUnique = 8;  // values: 2^8 sets of what has been
constexpr int64_t kMaxContained = 64;
constexpr int64_t kMaxItems = 20'000;

bool has(const Json& json, const char* keyword) {
  return json.is_object() && json.contains(keyword);
}

// Items by place: of 2020-12, and of the drafts before, where `items` was a list.
const char* prefix_of(const Json& json) {
  if (has(json, "prefixItems")) return "prefixItems";
  return has(json, "items") && json["items"].is_array() ? "items" : nullptr;
}
const char* rest_of(const Json& json) {
  if (has(json, "items") && !json["items"].is_array()) return "items";
  return has(json, "additionalItems") && has(json, "items") ? "additionalItems" : nullptr;
}

}  // namespace

Conjunction Compiler::item_schema(const Facets& f, int64_t index) {
  Conjunction all;
  for (const NodeId node : f.nodes) {
    const Json& json = document_.json(node);
    const char* prefix = prefix_of(json);
    if (prefix != nullptr && index < std::ssize(json[prefix])) {
      all.push_back(document_.child(node, prefix, static_cast<size_t>(index)));
    } else if (const char* rest = rest_of(json)) {
      all.push_back(document_.child(node, rest));
    }
  }
  return joined(std::move(all), {});
}

// All values a schema allows, where it lists them.
Result<std::optional<std::vector<Json>>> Compiler::finite_values(const Conjunction& all) {
  std::vector<Json> values;
  for (const Conjunction& branch : ETCH_TRY(expand(all))) {
    const Facets f = ETCH_TRY(facets_of(branch));
    std::vector<Json> own;
    if (f.values) {
      own = *f.values;
    } else if ((f.generated_types() & ~(Type::boolean | Type::null)) == 0) {
      if (f.types & Type::null) own.push_back(nullptr);
      if (f.types & Type::boolean) own.push_back(true), own.push_back(false);
    } else {
      return std::optional<std::vector<Json>>();
    }
    for (const Json& value : own) {
      bool fits = std::find(values.begin(), values.end(), value) == values.end();
      for (const NodeId node : branch) fits = fits && ETCH_TRY(is_valid(value, node));
      if (fits) values.push_back(value);
    }
  }
  return std::optional(std::move(values));
}

// Items that are all different: nodes of the graph are the sets of those that have been. None where
// items are not of that kind.
Result<std::optional<ExpressionId>> Compiler::unique_expression(const Facets& f) {
  for (const NodeId node : f.nodes) {
    if (prefix_of(document_.json(node)) != nullptr || has(document_.json(node), "contains"))
      return std::optional<ExpressionId>();
  }
  const auto values = ETCH_TRY(finite_values(item_schema(f, 0)));
  if (!values || std::ssize(*values) > kMaxUnique) return std::optional<ExpressionId>();
  const auto n = values->size();
  ExpressionGraph graph;
  graph.final.resize(size_t{1} << n);
  for (size_t set = 0; set < graph.final.size(); ++set) {
    const int64_t count = __builtin_popcountll(set);
    if (f.max_items >= 0 && count > f.max_items) continue;
    graph.final[set] = count >= f.min_items;
    for (size_t i = 0; i < n; ++i) {
      if ((set >> i) & 1 || (f.max_items >= 0 && count == f.max_items)) continue;
      const ExpressionId value = grammar_.text(json_text((*values)[i]));
      const ExpressionId label =
          set == 0 ? value : grammar_.sequence({grammar_.text(","), space(), value});
      graph.edges.push_back(
          {static_cast<int32_t>(set), static_cast<int32_t>(set | size_t{1} << i), label});
    }
  }
  return std::optional(grammar_.graph(std::move(graph)));
}

Result<ExpressionId> Compiler::array_expression(const Facets& f) {
  for (const Json& value : f.excluded) {
    if (value.is_array())
      return refuse(f.nodes.front(), "not", "one array cannot be left out of many");
  }
  const auto in_brackets = [&](ExpressionId items) {
    return grammar_.sequence({grammar_.text("["), space(), items, space(), grammar_.text("]")});
  };
  int64_t n_prefix = 0;
  bool has_rest = false;
  NodeId contains_at = -1;
  for (const NodeId node : f.nodes) {
    const Json& json = document_.json(node);
    if (const char* prefix = prefix_of(json))
      n_prefix = std::max<int64_t>(n_prefix, std::ssize(json[prefix]));
    has_rest |= rest_of(json) != nullptr;
    if (!has(json, "contains")) continue;
    if (contains_at >= 0)
      return refuse(node, "contains", "cannot be enforced together with another one");
    contains_at = node;
  }
  int64_t least = f.min_items, most = f.max_items;
  if (n_prefix > 0 &&
      !has_rest) {  // a tuple: of just these, unless the schema lets some be missing
    if (least < 0) least = most < 0 ? n_prefix : std::min(n_prefix, most);
    most = most < 0 ? n_prefix : std::min(most, n_prefix);
  }
  least = std::max<int64_t>(least, 0);
  if (most >= 0 && least > most) return grammar_.choice({});
  if (std::max(least, most) > kMaxItems)
    return refuse(f.nodes.front(), "", "more than {} items cannot be counted", kMaxItems);
  if (f.unique_at >= 0 && (most < 0 || most > 1)) {
    const auto unique = ETCH_TRY(unique_expression(f));
    if (unique) return in_brackets(*unique);
    return refuse(f.unique_at, "uniqueItems",
                  "can be enforced for at most {} listed values (enum, const, boolean) only",
                  kMaxUnique);
  }
  // Found ones are counted up to what is asked for; each is one of the items.
  int64_t wanted = 0;
  if (contains_at >= 0) {
    const Json& json = document_.json(contains_at);
    wanted =
        json.contains("minContains") ? static_cast<int64_t>(json["minContains"].get<double>()) : 1;
    if (json.contains("maxContains"))
      return refuse(contains_at, "maxContains", "cannot be enforced");
    if (wanted > kMaxContained)
      return refuse(contains_at, "minContains", "more than {} cannot be counted", kMaxContained);
  }
  if (n_prefix == 0 && !has_rest && least == 0 && most < 0 && wanted == 0) return any_array();

  const int64_t n_places = std::max({n_prefix, least, most, int64_t{1}}) + 1;
  ExpressionGraph graph;
  const auto node = [&](int64_t place, int64_t found) {
    return static_cast<int32_t>(place * (wanted + 1) + found);
  };
  graph.final.resize(static_cast<size_t>(n_places * (wanted + 1)));
  for (int64_t place = 0; place < n_places; ++place) {
    graph.final[static_cast<size_t>(node(place, wanted))] =
        place >= least && (most < 0 || place <= most);
    const int64_t next = place + 1 < n_places ? place + 1 : most < 0 ? place : -1;
    if (next < 0 || (most >= 0 && next > most)) continue;
    const Conjunction schema = item_schema(f, place);
    const auto add = [&](const Conjunction& all, int64_t from, int64_t to) -> Status {
      const ExpressionId item = grammar_.call(ETCH_TRY(rule_of(all)));
      const ExpressionId label =
          place == 0 ? item : grammar_.sequence({grammar_.text(","), space(), item});
      graph.edges.push_back({node(place, from), node(next, to), label});
      return {};
    };
    for (int64_t found = 0; found <= wanted; ++found) {
      ETCH_TRY(add(schema, found, found));
      if (found < wanted)
        ETCH_TRY(add(joined(schema, {document_.child(contains_at, "contains")}), found, found + 1));
    }
  }
  return in_brackets(grammar_.graph(std::move(graph)));
}

}  // namespace etch::schema
