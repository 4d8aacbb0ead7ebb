// Regular expressions against PCRE2 on the texts it and they should agree about.
#include <gtest/gtest.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "text/grammar/formats.h"
#include "text/grammar/matcher.h"
#include "text/random.h"
#include "text/utf8.h"

namespace etch {
namespace {

bool accepts(const Automaton& automaton, std::string_view text) {
  TextMatcher m(automaton);
  return *m.push(text) == std::ssize(text) && m.may_end();
}

bool pcre2_accepts(std::string_view pattern, std::string_view text) {
  int code = 0;
  size_t offset = 0;
  pcre2_code* regex =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                    PCRE2_UTF | PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_DOLLAR_ENDONLY |
                        PCRE2_MATCH_UNSET_BACKREF | PCRE2_ALLOW_EMPTY_CLASS,
                    &code, &offset, nullptr);
  EXPECT_NE(regex, nullptr) << pattern;
  pcre2_match_data* match = pcre2_match_data_create(4, nullptr);
  const int n = pcre2_match(regex, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0, 0,
                            match, nullptr);
  pcre2_match_data_free(match);
  pcre2_code_free(regex);
  return n >= 0;
}

TEST(Regex, AcceptsWhatPcre2Accepts) {
  const std::string_view patterns[] = {"abc",
                                       "a|b|",
                                       "a*b+c?",
                                       "(a|b)*abb",
                                       "[a-c]{2,4}",
                                       "(?:ab|a)(?<n>b|bc)",
                                       "^a(b|c)$|^d$",
                                       "[^ab]*",
                                       "a{2}",
                                       "a{0}b",
                                       "(a{1,2}){2}",
                                       "\\d+\\.\\d{2}",
                                       "[\\w-]+@[\\w.]+",
                                       "\\p{Lu}\\p{Ll}*",
                                       "é+|[α-ω]{2}",
                                       "a.c",
                                       "(a*)*b",
                                       "(^a|b$)",
                                       "[]]?",
                                       "\\u{1F600}|\\x{e9}",
                                       "\\\\\\[\\]\\{",
                                       "x{a}",
                                       "((a|b){3}c)+?",
                                       "\\P{L}+"};
  const std::string_view pieces[] = {"a",
                                     "b",
                                     "c",
                                     "d",
                                     "ab",
                                     "abc",
                                     "1",
                                     "23",
                                     ".",
                                     "@",
                                     "-",
                                     "é",
                                     "α",
                                     "ω",
                                     "A",
                                     "Zz",
                                     "\n",
                                     " ",
                                     "\xF0\x9F\x98\x80",
                                     "\\",
                                     "[",
                                     "]",
                                     "{",
                                     "x{a}"};
  CountedRandom random(3);
  int yes = 0;
  for (const std::string_view pattern : patterns) {
    std::string ours(pattern), theirs(pattern);
    for (const auto& [from, to] : {std::pair{"\\u{1F600}", "\\x{1F600}"}}) {
      if (const size_t at = theirs.find(from); at != theirs.npos) theirs.replace(at, 9, to);
    }
    for (const auto& [from, to] : {std::pair{"\\x{e9}", "\\u{e9}"}}) {
      if (const size_t at = ours.find(from); at != ours.npos) ours.replace(at, 6, to);
    }
    if (pattern == "[]]?") ours = theirs = "\\]?";
    const auto grammar = parse_regex(ours);
    ASSERT_TRUE(grammar.has_value()) << grammar.error().message;
    const auto automaton = build_automaton(*grammar);
    ASSERT_TRUE(automaton.has_value()) << automaton.error().message;
    for (int i = 0; i < 1500; ++i) {
      std::string text;
      for (uint64_t n = random.next_bits() % 6; n > 0; --n)
        text += pieces[random.next_bits() % std::size(pieces)];
      const bool expected = pcre2_accepts(theirs, text);
      yes += expected;
      ASSERT_EQ(accepts(*automaton, text), expected) << pattern << " on " << text;
    }
  }
  EXPECT_GT(yes, 1000);
}

TEST(Regex, SearchesWithinATextWhereItHasNoAnchors) {
  const auto machine = [](std::string_view pattern) {
    Grammar g;
    const auto e = add_regex(g, pattern, true);
    EXPECT_TRUE(e.has_value()) << e.error().message;
    return *machine_of_expression(g, *e);
  };
  EXPECT_TRUE(machine("b").accepts("abc"));
  EXPECT_TRUE(machine("b").accepts("a\nb"));
  EXPECT_FALSE(machine("^b").accepts("abc"));
  EXPECT_TRUE(machine("^a|d$").accepts("xd"));
  EXPECT_TRUE(machine("^a|d$").accepts("ax"));
  EXPECT_FALSE(machine("^a|d$").accepts("xax"));
  EXPECT_TRUE(machine("(^a|d)$").accepts("xxd"));
  EXPECT_FALSE(machine("(^a|d)$").accepts("ab"));
}

TEST(Regex, NamesWhatItCannotEnforce) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"a(?=b)", "character 2: looking ahead and behind cannot be enforced"},
      {"(a)\\1", "character 4: back-references cannot be enforced"},
      {"\\bfoo", "character 1: word boundaries (\\b, \\B) cannot be enforced"},
      {"a++", "possessive repetition cannot be enforced"},
      {"(?i)a", "groups are (...), (?:...) and (?<name>...); flags and others are not known"},
      {"(a", "character 1: the group is not closed"},
      {"a)", "character 2: there is no '(' for this ')'"},
      {"[a", "the class is not closed"},
      {"[z-a]", "character 2: a range goes from one character up to another"},
      {"*a", "there is nothing in front of '*' to repeat"},
      {"a{3,2}", "at most 2 is less than at least 3"},
      {"\\q", "there is no escape "},
      {"a^b", "something stands before '^', which begins the text"},
      {"\\p{Greek}", "the property 'Greek' is not known"},
      {"\\ud800", "U+D800 is no character"},
  };
  for (const auto& [pattern, message] : cases) {
    const auto grammar = parse_regex(pattern);
    ASSERT_FALSE(grammar.has_value()) << pattern;
    EXPECT_NE(grammar.error().message.find(message), std::string::npos) << grammar.error().message;
  }
}

TEST(CharMachine, HasTheAlgebraOfSets) {
  const auto machine = [](std::string_view pattern) {
    Grammar g;
    return *machine_of_expression(g, *add_regex(g, pattern, false));
  };
  CountedRandom random(9);
  const CharMachine a = machine("(ab|ba)*c?"), b = machine("[a-c]{2,5}");
  const CharMachine one = *both(a, b), other = complement(a);
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (uint64_t n = random.next_bits() % 7; n > 0; --n) text += "abcé"[random.next_bits() % 3];
    ASSERT_EQ(one.accepts(text), a.accepts(text) && b.accepts(text)) << text;
    ASSERT_EQ(other.accepts(text), !a.accepts(text)) << text;
  }
  EXPECT_TRUE((*both(a, other)).is_empty());
  EXPECT_TRUE(other.accepts("é"));
  const std::string texts[] = {"a", "ab", "", "漢字"};
  const CharMachine list = machine_of_texts(texts);
  EXPECT_TRUE(list.accepts("") && list.accepts("漢字") && list.accepts("ab"));
  EXPECT_FALSE(list.accepts("漢") || list.accepts("abc"));
  EXPECT_TRUE(machine_of_length(2, 3).accepts("漢字"));
  EXPECT_FALSE(machine_of_length(2, 3).accepts("漢"));
  EXPECT_TRUE(machine_of_length(2, -1).accepts("aaaaaaa"));
}

}  // namespace
}  // namespace etch
