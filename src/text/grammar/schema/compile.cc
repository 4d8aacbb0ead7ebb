// Conjunctions to rules, and the rules all schemas share.
#include <algorithm>

#include "text/grammar/schema/schema.h"

namespace etch::schema {

namespace {
constexpr size_t kMaxRules = 20'000;
}

Result<Grammar> Compiler::compile() {
  const Json& json = document_.json(document_.root());
  const bool says_nothing = json == Json(true) || json == Json::object();
  // A schema that says nothing asks for an object, as people who write one mean it.
  const Conjunction root = says_nothing
                               ? Conjunction{document_.made(document_.root(), {{"type", "object"}})}
                               : Conjunction{document_.root()};
  grammar_.root = ETCH_TRY(rule_of(root));
  for (size_t i = 0; i < to_make_.size(); ++i) {
    const auto [all, rule] = to_make_[i];
    ETCH_TRY(make_rule(all, rule));
    if (grammar_.rules.size() > kMaxRules)
      return refuse(document_.root(), "", "the schema takes more than {} rules", kMaxRules);
  }
  return std::move(grammar_);
}

Result<int32_t> Compiler::rule_of(Conjunction all) {
  std::erase_if(all, [&](NodeId n) {  // what says nothing
    return document_.json(n) == Json(true) || document_.json(n) == Json::object();
  });
  if (all.empty()) return shared("value", &Compiler::make_value);
  const auto known = rules_.find(all);
  if (known != rules_.end()) return known->second;
  std::string name;
  for (const char c : document_.pointer(all.front()).substr(1)) {
    const bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (is_plain || (!name.empty() && name.back() != '-')) name += is_plain ? c : '-';
  }
  if (grammar_.rules.empty()) name = "root";
  if (name.empty()) name = "schema";
  std::string unique = name;
  for (int i = 2; !names_.insert(unique).second; ++i) unique = fmt::format("{}-{}", name, i);
  const int32_t rule = grammar_.add_rule(unique);
  rules_[all] = rule;
  to_make_.emplace_back(std::move(all), rule);
  return rule;
}

Status Compiler::make_rule(const Conjunction& all, int32_t rule) {
  std::vector<ExpressionId> ways;
  for (const Conjunction& branch : ETCH_TRY(expand(all)))
    ways.push_back(ETCH_TRY(branch_expression(ETCH_TRY(facets_of(branch)))));
  grammar_.rules[static_cast<size_t>(rule)].body = grammar_.choice(std::move(ways));
  return {};
}

Result<ExpressionId> Compiler::branch_expression(const Facets& f) {
  std::vector<ExpressionId> ways;
  if (f.values) {
    for (const Json& value : *f.values) {
      bool fits = true;
      for (const NodeId node : f.nodes) fits = fits && ETCH_TRY(is_valid(value, node));
      if (fits) ways.push_back(grammar_.text(json_text(value)));
    }
    return grammar_.choice(std::move(ways));
  }
  const uint8_t types = f.generated_types();
  const auto is_excluded = [&](const Json& value) {
    return std::find(f.excluded.begin(), f.excluded.end(), value) != f.excluded.end();
  };
  if ((types & Type::null) && !is_excluded(nullptr)) ways.push_back(grammar_.text("null"));
  for (const bool value : {true, false}) {
    if ((types & Type::boolean) && !is_excluded(value))
      ways.push_back(grammar_.text(value ? "true" : "false"));
  }
  if (types & Type::number) ways.push_back(ETCH_TRY(number_expression(f)));
  if (types & Type::string) ways.push_back(ETCH_TRY(string_expression(f)));
  if (types & Type::array) ways.push_back(ETCH_TRY(array_expression(f)));
  if (types & Type::object) ways.push_back(ETCH_TRY(object_expression(f)));
  return grammar_.choice(std::move(ways));
}

int32_t Compiler::shared(const char* name, ExpressionId (Compiler::*body)()) {
  const auto known = shared_.find(name);
  if (known != shared_.end()) return known->second;
  std::string unique = name;
  for (int i = 2; !names_.insert(unique).second; ++i) unique = fmt::format("{}-{}", name, i);
  const int32_t rule = shared_[name] = grammar_.add_rule(unique);
  const ExpressionId made = (this->*body)();
  grammar_.rules[static_cast<size_t>(rule)].body = made;
  return rule;
}

ExpressionId Compiler::space() { return grammar_.call(shared("space", &Compiler::make_space)); }
ExpressionId Compiler::any_string() {
  return grammar_.call(shared("string", &Compiler::make_string));
}
ExpressionId Compiler::string_char() { return grammar_.call(shared("char", &Compiler::make_char)); }
ExpressionId Compiler::any_value() { return grammar_.call(shared("value", &Compiler::make_value)); }
ExpressionId Compiler::any_object() {
  return grammar_.call(shared("object", &Compiler::make_object));
}
ExpressionId Compiler::any_array() { return grammar_.call(shared("array", &Compiler::make_array)); }

// At most one space, or a line or two with an indent: enough to write nicely, too little to get
// lost in.
ExpressionId Compiler::make_space() {
  return grammar_.choice(
      {grammar_.text(""), grammar_.text(" "),
       grammar_.sequence(
           {grammar_.repeat(grammar_.text("\n"), 1, 2),
            grammar_.repeat(grammar_.chars(make_char_set({{' ', ' '}, {'\t', '\t'}})), 0, 20)})});
}

// A character as it is, or an escape. Surrogates come in pairs only.
ExpressionId Compiler::make_char() {
  Grammar& g = grammar_;
  const auto chars = [&](CharSet set) { return g.chars(make_char_set(std::move(set))); };
  const ExpressionId hex = chars({{'0', '9'}, {'a', 'f'}, {'A', 'F'}});
  const ExpressionId d = chars({{'d', 'd'}, {'D', 'D'}});
  const ExpressionId unicode = g.choice(
      {g.sequence({chars({{'0', '9'}, {'a', 'c'}, {'A', 'C'}, {'e', 'f'}, {'E', 'F'}}),
                   g.repeat(hex, 3, 3)}),
       g.sequence({d, chars({{'0', '7'}}), g.repeat(hex, 2, 2)}),
       g.sequence({d, chars({{'8', '9'}, {'a', 'b'}, {'A', 'B'}}), g.repeat(hex, 2, 2),
                   g.text("\\u"), d, chars({{'c', 'f'}, {'C', 'F'}}), g.repeat(hex, 2, 2)})});
  const ExpressionId escape = g.choice(
      {chars(
           {{'"', '"'}, {'\\', '\\'}, {'b', 'b'}, {'f', 'f'}, {'n', 'n'}, {'r', 'r'}, {'t', 't'}}),
       g.sequence({g.text("u"), unicode})});
  return g.choice(
      {g.chars(complement(make_char_set({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}, {0x7F, 0x7F}}))),
       g.sequence({g.text("\\"), escape})});
}

ExpressionId Compiler::make_string() {
  return grammar_.sequence(
      {grammar_.text("\""), grammar_.repeat(string_char(), 0, -1), grammar_.text("\"")});
}

// Up to 16 digits, as many behind the point; an exponent of at most two, so that the number is
// finite wherever it is read.
ExpressionId Compiler::any_number(bool integer) {
  Grammar& g = grammar_;
  const ExpressionId digit = g.chars({{'0', '9'}}), first = g.chars({{'1', '9'}});
  const ExpressionId natural = g.sequence({first, g.repeat(digit, 0, 15)});
  const ExpressionId whole =
      g.choice({g.text("0"), g.sequence({g.optional(g.text("-")), natural})});
  if (integer) return whole;
  return g.sequence(
      {g.choice({whole, g.text("-0")}),
       g.optional(g.sequence({g.text("."), g.repeat(digit, 1, 16)})),
       g.optional(g.sequence({g.chars(make_char_set({{'e', 'e'}, {'E', 'E'}})),
                              g.optional(g.chars(make_char_set({{'+', '+'}, {'-', '-'}}))),
                              g.repeat(digit, 1, 2)}))});
}

ExpressionId Compiler::make_value() {
  return grammar_.choice({any_object(), any_array(), any_string(), any_number(false),
                          grammar_.text("true"), grammar_.text("false"), grammar_.text("null")});
}

ExpressionId Compiler::make_object() {
  Grammar& g = grammar_;
  const ExpressionId pair = g.sequence({any_string(), g.text(":"), space(), any_value()});
  const ExpressionId more = g.repeat(g.sequence({g.text(","), space(), pair}), 0, -1);
  return g.sequence(
      {g.text("{"), space(), g.optional(g.sequence({pair, more})), space(), g.text("}")});
}

ExpressionId Compiler::make_array() {
  Grammar& g = grammar_;
  const ExpressionId more = g.repeat(g.sequence({g.text(","), space(), any_value()}), 0, -1);
  return g.sequence(
      {g.text("["), space(), g.optional(g.sequence({any_value(), more})), space(), g.text("]")});
}

}  // namespace etch::schema

namespace etch {

Result<Grammar> parse_json_schema(std::string_view text, const SchemaOptions& options) {
  auto document = ETCH_TRY(schema::SchemaDocument::parse(text));
  return schema::Compiler(std::move(document), options).compile();
}

}  // namespace etch
