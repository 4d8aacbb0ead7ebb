// Masks: each bit against the plain question, is the text with this token still the beginning of an
// accepted one; texts grown at random from masks always end, and are accepted.
#include "text/grammar/matcher.h"

#include <gtest/gtest.h>

#include "text/grammar/formats.h"
#include "text/random.h"

namespace etch {
namespace {

constexpr std::string_view kJson = R"gbnf(
root ::= object
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws ( string ":" ws value ("," ws string ":" ws value)* )? "}" ws
array ::= "[" ws ( value ("," ws value)* )? "]" ws
string ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) )* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9]{1,15})? ws
ws ::= | " " | "\n" [ \t]{0,20}
)gbnf";

// Rules with calls, recursion on both sides of what is read, ambiguity, optional everything,
// counts, and rules that do not end by themselves.
const std::string_view kGrammars[] = {
    kJson,
    "root ::= \"a\" root \"b\" | \"\"",
    "root ::= (\"a\" | \"aa\")* \"b\"",
    "root ::= s s\ns ::= \"a\" s s | \"b\" | \"\"",
    "root ::= line+\nline ::= [^\\n]* \"\\n\" | \"#\" line",
    "root ::= [a-z]{3,7} ( \" \" [a-zé-ü]{0,5} ){2} .",
    "root ::= item (\", \" item)*\nitem ::= [a-z ]+ (\"(\" item \")\")? | \"\\\"\" [^\"]{0,12} "
    "\"\\\"\"",
    "root ::= x x x\nx ::= y? \"c\"? y?\ny ::= \"a\" x | \"ab\"",
};

std::vector<std::string> small_vocabulary() {
  std::vector<std::string> texts;
  for (int b = 0; b < 256; ++b) texts.push_back(std::string(1, static_cast<char>(b)));
  for (const char* more : {"ab",
                           "aa",
                           "aab",
                           "abb",
                           "bb",
                           "abc",
                           "ba",
                           " a",
                           "the",
                           " the",
                           "{\"",
                           "\":",
                           "\",",
                           "\"},",
                           "\"}",
                           "}}",
                           "}]",
                           ", \"",
                           "]}",
                           "null",
                           "true,",
                           "tru",
                           "e,\"",
                           "12",
                           "123",
                           "1,",
                           "1}",
                           "-1.5e",
                           "\\u",
                           "\\\"",
                           "é",
                           "éa",
                           "\xC3",
                           "\xA9x",
                           "\n\n",
                           "\na",
                           "a\n",
                           "\n  ",
                           "(a)",
                           "((",
                           "))",
                           "a (b",
                           "#a\n",
                           "abcab",
                           "cab",
                           "ca",
                           "漢字",
                           "漢\"",
                           "日本語テキスト",
                           "\xF0\x9F",
                           "😀😀",
                           "hello world\n",
                           "0123456789012345678901234567890123456789",
                           "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\""}) {
    texts.push_back(more);
  }
  texts.push_back("");  // a control token
  texts.push_back("");  // the end
  return texts;
}

std::shared_ptr<TokenMasks> masks_of(std::string_view gbnf,
                                     std::shared_ptr<const GrammarVocabulary> vocabulary) {
  const auto grammar = parse_gbnf(gbnf);
  EXPECT_TRUE(grammar.has_value()) << grammar.error().message;
  auto automaton = build_automaton(*grammar);
  EXPECT_TRUE(automaton.has_value()) << automaton.error().message;
  auto masks = TokenMasks::make(std::move(*automaton), std::move(vocabulary), nullptr);
  EXPECT_TRUE(masks.has_value()) << masks.error().message;
  return *masks;
}

std::shared_ptr<const GrammarVocabulary> vocabulary_of(const std::vector<std::string>& texts) {
  return std::make_shared<GrammarVocabulary>(
      texts, std::vector<int32_t>{static_cast<int32_t>(texts.size()) - 1});
}

TEST(Masks, HaveEveryTokenThatFitsAndNoOther) {
  const auto texts = small_vocabulary();
  const auto vocabulary = vocabulary_of(texts);
  const auto end = static_cast<int32_t>(texts.size()) - 1;
  CountedRandom random(5);
  for (const std::string_view gbnf : kGrammars) {
    const auto masks = masks_of(gbnf, vocabulary);
    for (int round = 0; round < 12; ++round) {
      Matcher matcher(masks);
      std::string so_far;
      for (int n = 0; n < 40 && !matcher.has_ended(); ++n) {
        const auto mask = *matcher.mask();
        const TokenBits bits(mask.begin(), mask.end());
        std::vector<int32_t> allowed;
        TextMatcher before(masks->automaton());
        ASSERT_EQ(*before.push(so_far), std::ssize(so_far));
        for (int32_t id = 0; id < vocabulary->size(); ++id) {
          TextMatcher plain = before;
          const bool fits =
              id == end ? plain.may_end()
                        : !texts[id].empty() && *plain.push(texts[id]) == std::ssize(texts[id]);
          ASSERT_EQ(has_bit(bits, id), fits)
              << gbnf << "\nafter " << so_far << "\ntoken " << id << ": " << texts[id];
          if (fits) allowed.push_back(id);
        }
        ASSERT_FALSE(allowed.empty());
        // Long tokens first: they cross more borders.
        std::vector<int32_t> longer;
        for (const int32_t id : allowed)
          if (texts[id].size() > 1) longer.push_back(id);
        const auto& from = !longer.empty() && random.next_bits() % 4 != 0 ? longer : allowed;
        const int32_t id = from[random.next_bits() % from.size()];
        ASSERT_TRUE(matcher.accept(id).has_value());
        so_far += texts[id];
      }
      // And back: the masks of the way are what they were.
      if (matcher.n_accepted() > 5) {
        matcher.rollback(matcher.n_accepted());
        Matcher fresh(masks);
        const auto a = *matcher.mask();
        const TokenBits kept(a.begin(), a.end());
        const auto b = *fresh.mask();
        EXPECT_TRUE(std::equal(kept.begin(), kept.end(), b.begin(), b.end()));
      }
    }
  }
}

TEST(Masks, NameTheTokensOfAGrammar) {
  const auto texts = small_vocabulary();
  const auto vocabulary = vocabulary_of(texts);
  const auto masks = masks_of("root ::= <[300]> !<[301]> \"x\"", vocabulary);
  Matcher m(masks);
  auto mask = *m.mask();
  TokenBits bits(mask.begin(), mask.end());
  EXPECT_TRUE(has_bit(bits, 300));
  int64_t n = 0;
  for (const uint64_t w : bits) n += __builtin_popcountll(w);
  EXPECT_EQ(n, 1);
  EXPECT_FALSE(m.accept(299).has_value());
  ASSERT_TRUE(m.accept(300).has_value());
  mask = *m.mask();
  bits.assign(mask.begin(), mask.end());
  EXPECT_FALSE(has_bit(bits, 301));
  EXPECT_TRUE(has_bit(bits, 302));
  EXPECT_FALSE(has_bit(bits, static_cast<int32_t>(texts.size()) - 1));
  ASSERT_TRUE(m.accept(302).has_value());
  ASSERT_TRUE(m.accept('x').has_value());
  EXPECT_TRUE(m.may_end());
  EXPECT_TRUE(m.must_end());
}

TEST(Masks, RefuseAVocabularyThatCannotWriteWhatMayBeNeeded) {
  auto texts = small_vocabulary();
  texts['q'] = "qq";
  const auto automaton = build_automaton(*parse_gbnf("root ::= [a-z]+"));
  const auto refused = TokenMasks::make(*automaton, vocabulary_of(texts), nullptr);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(
      refused.error().message,
      "the vocabulary has no token for the byte 0x71 ('q') alone, which the grammar may need (1 "
      "such bytes in all): an answer could get stuck");
  EXPECT_TRUE(TokenMasks::make(*build_automaton(*parse_gbnf("root ::= [a-p]+")),
                               vocabulary_of(texts), nullptr)
                  .has_value());
}

TEST(Rows, StayFewForAmbiguousGrammars) {
  const auto automaton = build_automaton(
      *parse_gbnf("root ::= s\ns ::= \"a\" s s | \"a\" s | \"a\" | \"a\" x\nx ::= s | s s"));
  ASSERT_TRUE(automaton.has_value());
  TextMatcher m(*automaton);
  const std::string text(300, 'a');
  EXPECT_EQ(*m.push(text), 300);
  EXPECT_TRUE(m.may_end());
}

TEST(Rows, FollowLeftRecursionToo) {  // GBNF refuses it; other ways to a Grammar need not
  Grammar g;
  const int32_t list = g.add_rule("list");
  g.rules[0].body = g.choice({g.sequence({g.call(list), g.text(",a")}), g.text("a")});
  const auto automaton = build_automaton(g);
  ASSERT_TRUE(automaton.has_value());
  TextMatcher m(*automaton);
  EXPECT_EQ(*m.push("a,a,a,b"), 6);
  EXPECT_EQ(find_left_recursion(g), "list -> list");
}

TEST(Rows, ForgetOnesThatNobodyNeeds) {
  const auto automaton = build_automaton(*parse_gbnf("root ::= \"(\" root \")\" | \"x\""));
  RowTable table(*automaton);
  RowId row = table.start();
  for (int i = 0; i < 10; ++i) row = table.step(row, '(');
  for (int i = 0; i < 100; ++i) {
    RowId other = table.step(row, i % 2 ? 'x' : '(');
    for (int k = 0; k < 5; ++k) other = table.step(other, i % 2 ? ')' : '(');
  }
  const int64_t many = table.n_rows();
  table.shrink(std::span(&row, 1));
  EXPECT_LT(table.n_rows(), many);
  row = table.step(row, 'x');
  for (int i = 0; i < 10; ++i) row = table.step(row, ')');
  EXPECT_TRUE(table.may_end(row));
  EXPECT_EQ(table.step(row, ')'), kDeadRow);
}

}  // namespace
}  // namespace etch
