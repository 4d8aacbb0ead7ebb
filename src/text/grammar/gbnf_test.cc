// GBNF against what llama.cpp accepts (shared/data/grammar), and its errors.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/shared_dir.h"
#include "text/grammar/formats.h"
#include "text/grammar/matcher.h"

namespace etch {
namespace {

using nlohmann::json;

Result<Automaton> automaton_of(std::string_view gbnf) {
  const Grammar grammar = ETCH_TRY(parse_gbnf(gbnf));
  return build_automaton(grammar);
}

struct Outcome {
  int64_t accepted;
  bool is_complete;
  bool operator==(const Outcome&) const = default;
};

Outcome match(const Automaton& automaton, const std::string& text) {
  TextMatcher m(automaton);
  const int64_t n = *m.push(text);
  return {n, n == std::ssize(text) && m.may_end()};
}

TEST(Gbnf, AcceptsByteByByteWhatLlamaCppAccepts) {
  const auto file = test::shared_file("data/grammar/gbnf-syntax.json");
  if (!file) GTEST_SKIP();
  int checked = 0;
  for (const json& c : json::parse(test::read_text(*file))) {
    const std::string name = c["name"];
    const auto automaton = automaton_of(c["grammar"].get<std::string>());
    ++checked;
    if (name == "reversed range") {  // llama.cpp lets it pass and it matches nothing
      EXPECT_FALSE(automaton.has_value());
      continue;
    }
    ASSERT_EQ(automaton.has_value(), c["parses"].get<bool>())
        << name << ": " << (automaton ? "" : automaton.error().message);
    for (const json& s : c["strings"]) {
      const Outcome expected{s["accepted_bytes"], s["complete"]};
      const Outcome found = match(*automaton, s["text"]);
      EXPECT_EQ(found, expected) << name << ": " << s << " took " << found.accepted;
    }
  }
  EXPECT_EQ(checked, 49);
}

TEST(Gbnf, MatchesWholeTextsAsLlamaCpp) {
  const auto file = test::shared_file("data/grammar/gbnf-match.json");
  if (!file) GTEST_SKIP();
  int checked = 0;
  for (const json& c : json::parse(test::read_text(*file))) {
    const auto automaton = automaton_of(c["grammar"].get<std::string>());
    ASSERT_TRUE(automaton.has_value()) << c["name"] << automaton.error().message;
    for (const std::string text : c["match"])
      EXPECT_TRUE(match(*automaton, text).is_complete) << c["name"] << ": " << text;
    for (const std::string text : c["reject"])
      EXPECT_FALSE(match(*automaton, text).is_complete) << c["name"] << ": " << text;
    ++checked;
  }
  EXPECT_EQ(checked, 8);
}

}  // namespace
}  // namespace etch
