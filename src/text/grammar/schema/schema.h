// The parts of parse_json_schema (formats.h).
//
//   text -> SchemaDocument -> branches -> Facets -> expressions of a Grammar
//           nodes, refs       any, all,   all that   objects.cc arrays.cc strings.cc numbers.cc
//                             one of      holds at
//                                         once
//
// Several schemas that hold at once are a Conjunction. It is spread into branches, one of which
// must hold; in a branch no schema has alternatives any more, so that what its schemas say about
// one kind of value can be put together: Facets.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/grammar/formats.h"

namespace etch::schema {

using Json = nlohmann::ordered_json;
using NodeId = int32_t;
using Conjunction = std::vector<NodeId>;  // ascending, all hold

enum Type : uint8_t { null = 1, boolean = 2, number = 4, string = 8, array = 16, object = 32 };
inline constexpr uint8_t kAllTypes = 63;
uint8_t type_of(const Json& value);

class SchemaDocument {
 public:
  static Result<SchemaDocument> parse(std::string_view text);

  NodeId root() const { return 0; }
  const Json& json(NodeId node) const { return *nodes_[static_cast<size_t>(node)].json; }
  const std::string& pointer(NodeId node) const {
    return nodes_[static_cast<size_t>(node)].pointer;
  }
  // A schema inside of another: child(node, "properties", "a").
  NodeId child(NodeId node, std::string_view keyword);
  NodeId child(NodeId node, std::string_view keyword, std::string_view key);
  NodeId child(NodeId node, std::string_view keyword, size_t index);
  // One that nobody wrote, made on account of `node`.
  NodeId made(NodeId node, Json json);
  bool is_made(NodeId node) const { return nodes_[static_cast<size_t>(node)].is_made; }
  Result<NodeId> referred(NodeId node);  // by $ref

  SchemaDocument(SchemaDocument&&) = default;

 private:
  struct Node {
    const Json* json;
    std::string pointer;
    bool is_made = false;
  };
  SchemaDocument() = default;
  NodeId node_of(const Json& json, std::string pointer);
  void index_anchors(const Json& json, const std::string& pointer, int depth);

  std::deque<Json> owned_;  // the document, and what was made
  std::vector<Node> nodes_;
  std::map<const Json*, NodeId> known_;
  std::map<std::string, std::pair<const Json*, std::string>, std::less<>> anchors_;
};

// A number as it is written: sign, digits before and behind the point.
struct Decimal {
  bool negative = false;
  std::string whole, fraction;  // no leading zeros but "0"; no trailing zeros
};
Result<Decimal> decimal_of(const Json& number);
int compare(const Decimal& a, const Decimal& b);

struct Bound {
  Decimal value;
  bool exclusive = false;
};

struct Facets {
  uint8_t types = kAllTypes;  // as written
  uint8_t implied = 0;        // types the keywords speak of
  bool integers_only = false;
  std::optional<std::vector<Json>> values;  // of enum and const
  std::vector<Json> excluded;
  std::optional<Bound> low, high;
  std::vector<Decimal> multiples;
  int64_t min_length = 0, max_length = -1;
  std::vector<std::pair<std::string, NodeId>> patterns, excluded_patterns, formats;
  int64_t min_items = -1, max_items = -1, min_properties = 0, max_properties = -1;  // -1: not said
  NodeId unique_at = -1;
  std::vector<std::string> required;
  Conjunction nodes;  // all of the branch

  uint8_t generated_types() const {  // without a type: those its keywords speak of
    return types != kAllTypes || implied == 0 ? types : implied;
  }
};

class Compiler {
 public:
  Compiler(SchemaDocument document, const SchemaOptions& options)
      : document_(std::move(document)), options_(options) {}
  Result<Grammar> compile();

 private:
  // branches.cc: what a conjunction may mean, and what holds in one of its branches
  using Branches = std::vector<Conjunction>;
  Result<Branches> expand(const Conjunction& all);
  Result<Branches> expand_node(NodeId node);
  Result<Branches> negate(NodeId node);
  Result<Branches> expand_any(NodeId node, std::string_view keyword);
  Result<Facets> facets_of(const Conjunction& branch);
  Status check_keywords(NodeId node);
  Status check_one_of(NodeId node);

  // disjoint.cc: is no value that `a` generates one of those that `b` accepts?
  Result<bool> are_disjoint(const Conjunction& a, const Conjunction& b, int depth);
  Result<bool> are_disjoint(const Facets& a, const Facets& b, int depth);

  // validate.cc: does a value fit, by the words of the standard?
  Result<bool> is_valid(const Json& value, NodeId node, int depth = 0);
  Result<bool> is_valid_object(const Json& value, NodeId node, int depth);
  Result<bool> is_valid_array(const Json& value, NodeId node, int depth);

  // compile.cc, objects.cc, arrays.cc, strings.cc, numbers.cc: expressions
  Result<int32_t> rule_of(Conjunction all);  // to be made in its turn
  Status make_rule(const Conjunction& all, int32_t rule);
  Result<ExpressionId> branch_expression(const Facets& f);
  Result<ExpressionId> object_expression(const Facets& f);
  Result<ExpressionId> array_expression(const Facets& f);
  Result<ExpressionId> string_expression(const Facets& f);
  Result<ExpressionId> number_expression(const Facets& f);
  Result<std::optional<ExpressionId>> unique_expression(const Facets& f);
  Result<std::optional<std::vector<Json>>> finite_values(const Conjunction& all);
  Result<CharMachine> string_machine(const Facets& f);  // of decoded strings
  Result<CharMachine> names_machine(const Conjunction& all);
  Result<CharMachine> pattern_machine(std::string_view pattern, NodeId node, bool is_search);
  Result<std::optional<Conjunction>> property_schema(const Facets& f, const std::string& name);
  Conjunction item_schema(const Facets& f, int64_t index);
  struct ExtraKeys {
    CharMachine names;
    Conjunction schema;
  };
  Result<std::vector<ExtraKeys>> extra_keys(const Facets& f, const std::vector<std::string>& names);

  // Rules that all schemas share.
  ExpressionId space();
  ExpressionId any_string();
  ExpressionId string_char();
  ExpressionId any_number(bool integer);
  ExpressionId any_value();
  ExpressionId any_object();
  ExpressionId any_array();
  int32_t shared(const char* name, ExpressionId (Compiler::*body)());
  ExpressionId make_value();
  ExpressionId make_object();
  ExpressionId make_array();
  ExpressionId make_string();
  ExpressionId make_char();
  ExpressionId make_space();

  template <class... Args>
  tl::unexpected<Error> error(ErrorKind kind, NodeId node, std::string_view keyword,
                              fmt::format_string<Args...> format, Args&&... args) const {
    return fail(kind, "{}{}{}: {}", document_.pointer(node), keyword.empty() ? "" : "/", keyword,
                fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  tl::unexpected<Error> refuse(NodeId node, std::string_view keyword,
                               fmt::format_string<Args...> format, Args&&... args) const {
    return error(ErrorKind::unsupported, node, keyword, format, std::forward<Args>(args)...);
  }
  bool may_skip(std::string_view keyword) const;

  SchemaDocument document_;
  const SchemaOptions& options_;
  Grammar grammar_;
  std::map<Conjunction, int32_t> rules_;
  std::vector<std::pair<Conjunction, int32_t>> to_make_;
  std::map<std::string, int32_t> shared_;
  std::set<std::string> names_;
  std::set<NodeId> vetted_, checked_, expanding_;
  std::map<std::pair<std::string, bool>, CharMachine> machines_;
};

Conjunction joined(Conjunction a, const Conjunction& b);
std::string json_text(const Json& value);  // compact

}  // namespace etch::schema
