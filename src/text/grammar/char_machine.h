// CharMachine: a deterministic finite automaton over code points: which strings are allowed, before
// they are written down as UTF-8 or as the inside of a JSON string. What several conditions allow
// at once (a pattern, a length, a format, not one of these names) is the product of their machines.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/grammar/char_set.h"

namespace etch {

class Grammar;

struct CharMachine {
  struct Edge {
    CharRange range;
    int32_t to = 0;
  };
  struct State {
    bool final = false;
    std::vector<Edge> edges;  // ascending, disjoint; what is in none of them is refused
  };
  std::vector<State> states;  // the first is the start; none at all: accepts nothing

  bool accepts(std::string_view utf8) const;
  bool is_empty() const;  // accepts nothing
};

CharMachine machine_of_texts(std::span<const std::string> texts);  // these, in UTF-8
CharMachine machine_of_length(int64_t least, int64_t most);        // in code points; most -1: any
// Of an expression without rules and tokens. ErrorKind::unsupported where it takes too many states.
Result<CharMachine> machine_of_expression(const Grammar& grammar, int32_t expression);

Result<CharMachine> both(const CharMachine& a, const CharMachine& b);
CharMachine complement(const CharMachine& a);
// Without states that lead nowhere; equal ones once.
CharMachine reduced(const CharMachine& a);

inline constexpr int64_t kMaxMachineStates = 20'000;

}  // namespace etch
