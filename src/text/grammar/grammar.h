// Grammar: which texts are allowed. GBNF, JSON schemas, regular expressions and lists of choices
// all become this one form; build_automaton turns it into what runs.
//
//   gbnf.cc  regex.cc  choices.cc  schema/  ->  Grammar  ->  Automaton  ->  TokenMasks  ->  Matcher
//
// Rules have names and call one another; a rule's body is an expression over code points. Plain
// data: expressions live in one list and name one another by index.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/grammar/char_machine.h"
#include "text/grammar/char_set.h"

namespace etch {

using ExpressionId = int32_t;

struct Expression {
  enum class Kind : uint8_t {
    text,      // a fixed text; "" is the empty one
    chars,     // one character of a set; of the empty set: nothing matches
    sequence,  // parts one after the other
    choice,    // one of the parts
    repeat,    // the one part, `least` to `most` times (most -1: any number)
    rule,      // what rule `index` matches
    token,     // one token of the vocabulary, by its id `index` or by its `text`
    machine,   // what machine `index` accepts
    graph,     // what leads through graph `index` from its first node to a final one
  };
  Kind kind = Kind::text;
  bool negated = false;       // token: any other one
  bool json_escaped = false;  // machine: its characters are written as inside a JSON string
  int32_t index = -1;
  int32_t depth = 1;  // of nesting
  int64_t least = 0, most = -1;
  std::string text;
  CharSet chars;
  std::vector<ExpressionId> parts;
};

// An automaton whose edges are expressions: what takes too long to write with sequences and
// choices, like any subset of a hundred optional properties with commas between them.
struct ExpressionGraph {
  struct Edge {
    int32_t from = 0, to = 0;
    ExpressionId label = 0;
  };
  std::vector<bool> final;  // by node
  std::vector<Edge> edges;
};

struct GrammarRule {
  std::string name;
  ExpressionId body = -1;  // -1: called, but not defined
};

class Grammar {
 public:
  std::vector<Expression> expressions;
  std::vector<GrammarRule> rules;
  std::vector<CharMachine> machines;
  std::vector<ExpressionGraph> graphs;
  int32_t root = 0;  // rule

  ExpressionId text(std::string_view text);
  ExpressionId chars(CharSet set);
  ExpressionId sequence(std::vector<ExpressionId> parts);  // of one part: that part
  ExpressionId choice(std::vector<ExpressionId> parts);    // of none: nothing matches
  ExpressionId repeat(ExpressionId part, int64_t least, int64_t most);
  ExpressionId optional(ExpressionId part) { return repeat(part, 0, 1); }
  ExpressionId call(int32_t rule);
  ExpressionId token(int32_t id, std::string_view text, bool negated);
  ExpressionId machine(CharMachine machine, bool json_escaped);
  ExpressionId graph(ExpressionGraph graph);
  int32_t add_rule(std::string_view name, ExpressionId body = -1);

  const Expression& at(ExpressionId id) const { return expressions[static_cast<size_t>(id)]; }
  bool uses_tokens() const;

 private:
  ExpressionId add(Expression e);
};

// Which rules can match the empty text; which can match anything at all.
struct GrammarFacts {
  std::vector<bool> is_nullable, is_productive;  // by rule
};
GrammarFacts find_facts(const Grammar& grammar);
bool is_nullable(const Grammar& grammar, const GrammarFacts& facts, ExpressionId id);
bool is_productive(const Grammar& grammar, const GrammarFacts& facts, ExpressionId id);

// Rules that come back to themselves before anything is matched: "a -> b -> a"; "" if none does.
std::string find_left_recursion(const Grammar& grammar);

// As GBNF, a rule a line. Machines and graphs have no such form: they are shown as <machine, N
// states>.
std::string print(const Grammar& grammar);

// Expressions nest at most so deep (functions over them recurse).
inline constexpr int32_t kMaxExpressionDepth = 1000;

}  // namespace etch
