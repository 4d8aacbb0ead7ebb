// JSON schemas against what llama.cpp's grammars accept (shared/data/grammar), the keywords beyond
// it by hand, and what must be refused by name.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/shared_dir.h"
#include "text/grammar/formats.h"
#include "text/grammar/matcher.h"

namespace etch {
namespace {

using nlohmann::ordered_json;

bool accepts(const Automaton& automaton, std::string_view text) {
  TextMatcher m(automaton);
  return *m.push(text) == std::ssize(text) && m.may_end();
}

Result<Automaton> automaton_of(std::string_view schema, const SchemaOptions& options = {}) {
  return build_automaton(ETCH_TRY(parse_json_schema(schema, options)));
}

TEST(JsonSchema, AcceptsWhatLlamaCppsGrammarsAccept) {
  const auto file = test::shared_file("data/grammar/json-schema-match.json");
  if (!file) GTEST_SKIP();
  int checked = 0;
  for (const ordered_json& c : ordered_json::parse(test::read_text(*file))) {
    const std::string name = c["name"], schema = c["schema"].dump();
    SchemaOptions options;
    if (schema.find("uniqueItems") !=
        schema.npos) {  // of open strings: llama.cpp drops it silently
      const auto refused = automaton_of(schema);
      ASSERT_FALSE(refused.has_value());
      EXPECT_TRUE(refused.error().message.starts_with("#/properties/tags/uniqueItems: "))
          << refused.error().message;
      options.unenforced = {"uniqueItems"};
    }
    const auto automaton = automaton_of(schema, options);
    ASSERT_TRUE(automaton.has_value()) << name << automaton.error().message;
    for (const std::string text : c["match"])
      EXPECT_TRUE(accepts(*automaton, text)) << name << ": " << text;
    for (const std::string text : c["reject"])
      EXPECT_FALSE(accepts(*automaton, text)) << name << ": " << text;
    ++checked;
  }
  EXPECT_EQ(checked, 26);
}

struct Case {
  std::string_view schema;
  std::vector<std::string_view> match, reject;
};

TEST(JsonSchema, EnforcesTheDraft) {
  const Case cases[] = {
      {R"({"type":"number","minimum":-1.5,"exclusiveMaximum":20.25})",
       {"-1.5", "0", "20", "20.24", "-0.1", "20.2499999999999"},
       {"-1.51", "20.25", "20.3", "21", "-2", "1e5"}},
      {R"({"type":"integer","multipleOf":7,"maximum":70})",
       {"0", "7", "-14", "70"},
       {"1", "77", "71"}},
      {R"({"type":"number","multipleOf":0.05,"minimum":0})",
       {"0.05", "1.1", "2", "3.150"},
       {"0.01", "1.12", "-0.05"}},
      {R"({"type":"integer","minimum":5,"maximum":5})", {"5"}, {"4", "6", "55", ""}},
      {R"({"type":"string","pattern":"^a+$","minLength":2,"maxLength":3})",
       {"\"aa\"", "\"aaa\""},
       {"\"a\"", "\"aaaa\"", "\"ab\""}},
      {R"({"type":"string","pattern":"[\"\\\\]"})", {R"("\"")", R"("a\\b")"}, {"\"a\"", R"("\n")"}},
      {R"({"type":"string","format":"date"})",
       {"\"2024-02-29\"", "\"2023-12-31\""},
       {"\"2023-02-29\"", "\"2023-04-31\"", "\"0000-01-01\"", "\"2023-13-01\""}},
      {R"({"type":"string","format":"ipv6"})",
       {"\"::\"", "\"1::8\"", "\"1:2:3:4:5:6:7:8\""},
       {"\"1:2\"", "\":::\""}},
      {R"({"allOf":[{"properties":{"a":{"type":"integer"}},"required":["a"]},{"properties":{"b":{"type":"boolean"}},"additionalProperties":false}]})",
       {},
       {"{\"a\":1}", "{\"b\":true}"}},
      {R"({"anyOf":[{"type":"string","maxLength":1},{"type":"integer","minimum":10}]})",
       {"\"a\"", "10", "123"},
       {"\"ab\"", "9"}},
      {R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"dependentRequired":{"a":["b"]}})",
       {"{}", "{\"b\":1}", "{\"a\":1,\"b\":2}"},
       {"{\"a\":1}"}},
      {R"({"type":"object","properties":{"a":true,"b":true,"c":true},"minProperties":1,"maxProperties":2})",
       {"{\"a\":1}", "{\"a\":1,\"c\":null}", "{\"c\":[]}"},
       {"{}", "{\"a\":1,\"b\":1,\"c\":1}"}},
      {R"({"type":"object","patternProperties":{"^x-":{"type":"integer"},"y$":{"type":"boolean"}},"additionalProperties":false})",
       {"{}", "{\"x-a\":1}", "{\"ay\":true, \"x-b\":2}"},
       {"{\"a\":1}", "{\"x-y\":1}", "{\"x-y\":true}", "{\"ay\":1}"}},
      {R"({"type":"object","propertyNames":{"pattern":"^[a-z]+$"},"additionalProperties":{"type":"integer"}})",
       {"{\"abc\":1}", "{}"},
       {"{\"A\":1}", "{\"abc\":\"x\"}"}},
      {R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}]})",
       {"[1,\"a\"]"},
       {"[1]", "[]", "[1,\"a\",2]", "[\"a\",1]"}},
      {R"({"type":"array","prefixItems":[{"type":"integer"}],"items":{"type":"boolean"},"minItems":1,"maxItems":3})",
       {"[1]", "[1,true]", "[1, true, false]"},
       {"[]", "[true]", "[1,true,true,true]"}},
      {R"({"type":"array","items":{"enum":["a","b","c"]},"uniqueItems":true,"minItems":2})",
       {"[\"a\",\"b\"]", "[\"c\", \"b\", \"a\"]"},
       {"[\"a\"]", "[\"a\",\"a\"]", "[\"a\",\"b\",\"a\"]"}},
      {R"({"type":"array","items":{"type":"integer"},"contains":{"minimum":10},"minContains":2})",
       {"[10,11]", "[1,10,2,30]"},
       {"[10]", "[1,2]", "[]"}},
      {R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["v","next"]}}})",
       {"{\"v\":1,\"next\":null}", "{\"v\":1,\"next\":{\"v\":2,\"next\":null}}"},
       {"{\"v\":1}", "{\"v\":1,\"next\":1}"}},
      {R"({"type":"string","not":{"enum":["a","b"]}})",
       {"\"c\"", "\"ab\"", "\"\""},
       {"\"a\"", "\"b\""}},
      {R"({"type":"integer","not":{"const":5},"minimum":0,"maximum":20})", {"4", "6", "15"}, {"5"}},
      {R"({"not":{"type":["object","array","null","boolean","number"]}})",
       {"\"a\""},
       {"1", "{}", "null"}},
      {R"({"type":"object","properties":{"kind":{"enum":["a","b"]},"n":{"type":"integer"}},"required":["kind"],
          "if":{"properties":{"kind":{"const":"a"}},"required":["kind"]},"then":{"required":["n"]}})",
       {"{\"kind\":\"b\"}", "{\"kind\":\"a\",\"n\":1}", "{\"kind\":\"b\",\"n\":2}"},
       {"{\"kind\":\"a\"}", "{}"}},
      {R"({"oneOf":[{"type":"object","properties":{"t":{"const":"x"},"v":{"type":"integer"}},"required":["t","v"]},
                    {"type":"object","properties":{"t":{"const":"y"}},"required":["t"]}]})",
       {"{\"t\":\"x\",\"v\":1}", "{\"t\":\"y\"}"},
       {"{\"t\":\"x\"}", "{\"t\":\"z\"}"}},
      {R"({"oneOf":[{"type":"integer","maximum":3},{"type":"integer","minimum":4},{"type":"string"}]})",
       {"3", "4", "\"\""},
       {"true"}},
      {R"({"type":["string","integer"],"enum":["a",1,true,null]})",
       {"\"a\"", "1"},
       {"true", "null"}},
      {R"({"type":"object","properties":{"a/b":{"type":"integer"}},"required":["a/b","c"],"additionalProperties":{"type":"boolean"}})",
       {"{\"a/b\":1,\"c\":true}", "{\"a/b\":1,\"c\":true,\"d\":false}"},
       {"{\"a/b\":1}", "{\"a/b\":1,\"c\":2}"}},
      {R"({"type":"string","minLength":1,"maxLength":1})",
       {"\"é\"", "\"\\n\"", "\"\\ud83d\\ude00\""},
       {"\"\\ud83d\"", "\"ab\""}},
      {R"({"type":"array"})", {"[]", "[1, {\"a\": [null]}]"}, {"{}"}},
      {R"({"type":"object","minProperties":1})", {"{\"a\":1}"}, {"{}"}},
      {R"({"title":"anything"})", {"1", "null", "[]", "{\"a\":\"b\"}"}, {"", "x"}},
  };
  for (const Case& c : cases) {
    const auto automaton = automaton_of(c.schema);
    if (c.match.empty()) {  // nothing fits, and that is said
      EXPECT_FALSE(automaton.has_value()) << c.schema;
      continue;
    }
    ASSERT_TRUE(automaton.has_value()) << c.schema << "\n" << automaton.error().message;
    for (const auto text : c.match)
      EXPECT_TRUE(accepts(*automaton, text)) << c.schema << "\n" << text;
    for (const auto text : c.reject)
      EXPECT_FALSE(accepts(*automaton, text)) << c.schema << "\n" << text;
  }
}

TEST(JsonSchema, NamesWhatItCannotEnforceAndWhere) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {R"({"properties":{"a":{"type":"string","contentEncoding":"base64"}}})",
       "#/properties/a/contentEncoding: cannot be enforced"},
      {R"({"$dynamicRef":"#x"})", "#/$dynamicRef: cannot be enforced"},
      {R"({"type":"string","nullable":true})",
       "#/nullable: there is no such keyword in the draft 2020-12"},
      {R"({"items":{"type":"string","format":"regex"}})",
       "#/items/format: 'regex' is not known; date, time,"},
      {R"({"oneOf":[{"type":"integer"},{"type":"number"}]})",
       "#/oneOf: a value could fit both arm 0 and arm 1"},
      {R"({"oneOf":[{"properties":{"a":{"const":1}}},{"properties":{"a":{"const":2}}}]})",
       "#/oneOf: "},
      {R"({"$ref":"https://example.com/x.json"})",
       "#/$ref: 'https://example.com/x.json' lies outside of the schema"},
      {R"({"$ref":"#/$defs/a"})", "#/$ref: '#/$defs/a' names no place in the schema"},
      {R"({"$defs":{"a":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"})",
       "#/$defs/a: refers to itself with nothing in between"},
      {R"j({"type":"string","pattern":"a(?=b)"})j",
       "#/pattern: pattern 'a(?=b)', character 2: looking ahead"},
      {R"({"type":"array","items":{"type":"string"},"uniqueItems":true})",
       "#/uniqueItems: can be enforced for"},
      {R"({"contains":{"type":"string"},"maxContains":2,"type":"array"})",
       "#/maxContains: cannot be enforced"},
      {R"({"type":"strin"})", "#/type: expected null, boolean, integer"},
      {R"({"minLength":-1})", "#/minLength: expected a whole number from 0"},
      {R"({"type":"object","unevaluatedProperties":{"type":"string"}})",
       "#/unevaluatedProperties: only true and false"},
      {R"({"not":{"multipleOf":3}})",
       "#/not/multipleOf: that this does not hold cannot be enforced"},
      {R"([1])", "#: a schema is an object, true or false, not '[1]'"},
      {R"({"a":)", "the schema is no JSON: "},
      {R"({"type":"integer","minimum":3,"maximum":2})",
       "no text can be accepted: the rule 'root' never comes to an end"},
      {R"(false)", "no text can be accepted"},
  };
  for (const auto& [schema, message] : cases) {
    const auto automaton = automaton_of(schema);
    ASSERT_FALSE(automaton.has_value()) << schema;
    EXPECT_TRUE(automaton.error().message.starts_with(message)) << schema << "\n"
                                                                << automaton.error().message;
  }
}

TEST(JsonSchema, LeavesOutOnlyWhatSomeoneNamed) {
  EXPECT_TRUE(automaton_of(R"({"type":"string","contentEncoding":"base64"})", {{"contentEncoding"}})
                  .has_value());
  EXPECT_FALSE(
      automaton_of(R"({"type":"string","contentEncoding":"base64"})", {{"format"}}).has_value());
}

}  // namespace
}  // namespace etch
