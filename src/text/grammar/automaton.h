// Automaton: a Grammar made ready to run over bytes. Every rule is a small finite automaton whose
// edges read a byte, call a rule, or take one token of the vocabulary:
//
//   list ::= "[" item ("," item)* "]"        (0) --[--> (1) --item--> (2) --]--> ((3))
//                                                        ^----- , -----+
//
// Rules that do not come back to themselves are copied into their callers where that keeps things
// deterministic; of the others the calls stay. Every state can be left towards an accepted text.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/grammar/grammar.h"

namespace etch {

struct Automaton {
  struct ByteEdge {
    uint8_t low = 0, high = 0;
    int32_t to = 0;
    auto operator<=>(const ByteEdge&) const = default;
  };
  struct CallEdge {
    int32_t rule = 0, to = 0;
    auto operator<=>(const CallEdge&) const = default;
  };
  struct TokenEdge {
    int32_t token = 0, to = 0;  // index in `tokens`
    auto operator<=>(const TokenEdge&) const = default;
  };
  struct State {
    int32_t rule = 0;
    bool final = false;  // the rule may end here
    int32_t bytes = 0, calls = 0,
            tokens = 0;  // first edge of each kind; the next state's ends them
  };
  struct Rule {
    std::string name;
    int32_t start = -1;  // -1: copied into its callers
    bool is_nullable = false;
  };
  struct TokenName {  // of the vocabulary, not yet looked up
    int32_t id = -1;
    std::string text;
    bool negated = false;
    bool operator==(const TokenName&) const = default;
  };

  std::vector<State> states;  // and one more that ends the last one's edges
  std::vector<ByteEdge> byte_edges;
  std::vector<CallEdge> call_edges;
  std::vector<TokenEdge> token_edges;
  std::vector<Rule> rules;
  std::vector<std::vector<int32_t>> followers;  // by rule: the states behind its calls
  std::vector<TokenName> tokens;
  int32_t root = 0;

  // Bytes that no edge tells apart are one class.
  std::array<uint8_t, 256> class_of{};
  std::vector<uint8_t> class_byte;  // one byte of each
  std::bitset<256> needed_bytes;    // on some edge

  int64_t n_states() const { return static_cast<int64_t>(states.size()) - 1; }
  int64_t n_classes() const { return static_cast<int64_t>(class_byte.size()); }
  std::span<const ByteEdge> bytes_of(int32_t state) const {
    return edges_of(byte_edges, &State::bytes, state);
  }
  std::span<const CallEdge> calls_of(int32_t state) const {
    return edges_of(call_edges, &State::calls, state);
  }
  std::span<const TokenEdge> tokens_of(int32_t state) const {
    return edges_of(token_edges, &State::tokens, state);
  }

 private:
  template <class Edge>
  std::span<const Edge> edges_of(const std::vector<Edge>& edges, int32_t State::*first,
                                 int32_t state) const {
    const auto i = static_cast<size_t>(state);
    return std::span(edges).subspan(static_cast<size_t>(states[i].*first),
                                    static_cast<size_t>(states[i + 1].*first - states[i].*first));
  }
};

// ErrorKind::damaged for a grammar that can accept nothing or calls what is not defined,
// unsupported where it takes too many states (naming the rule).
Result<Automaton> build_automaton(const Grammar& grammar);

inline constexpr int64_t kMaxAutomatonStates = 400'000;

}  // namespace etch
