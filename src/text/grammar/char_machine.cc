#include "text/grammar/char_machine.h"

#include <algorithm>
#include <map>

#include "text/grammar/grammar.h"
#include "text/utf8.h"

namespace etch {

namespace {

using State = CharMachine::State;
using Edge = CharMachine::Edge;

Result<CharMachine> too_large() {
  return fail(ErrorKind::unsupported,
              "the strings that are allowed here take more than {} states to describe",
              kMaxMachineStates);
}

int32_t step(const State& state, uint32_t code) {
  const auto after = std::upper_bound(state.edges.begin(), state.edges.end(), code,
                                      [](uint32_t c, const Edge& e) { return c < e.range.low; });
  if (after == state.edges.begin()) return -1;
  const Edge& e = *(after - 1);
  return code <= e.range.high ? e.to : -1;
}

// Neighbouring ranges that lead to the same place become one.
void add_edge(State& state, CharRange range, int32_t to) {
  if (!state.edges.empty()) {
    Edge& last = state.edges.back();
    if (last.to == to && last.range.high + 1 == range.low) {
      last.range.high = range.high;
      return;
    }
  }
  state.edges.push_back({range, to});
}

// The expression as an automaton with empty steps, before it is made deterministic.
struct Nfa {
  struct Node {
    std::vector<int32_t> empty;
    CharSet chars;
    int32_t to = -1;
  };
  std::vector<Node> nodes;
  bool too_large = false;

  int32_t add() {
    too_large |= std::ssize(nodes) >= 4 * kMaxMachineStates;
    if (!too_large) nodes.emplace_back();
    return static_cast<int32_t>(nodes.size()) - 1;
  }

  // Joins `from` with the expression's end, which it gives.
  int32_t build(const Grammar& grammar, ExpressionId id, int32_t from) {
    const Expression& e = grammar.at(id);
    if (too_large) return from;
    switch (e.kind) {
      case Expression::Kind::text:
        for (size_t at = 0; at < e.text.size();) {
          const Utf8Char c = decode_utf8(e.text, at);
          from = build_chars({{c.code, c.code}}, from);
          at += static_cast<size_t>(c.bytes);
        }
        return from;
      case Expression::Kind::chars:
        return build_chars(e.chars, from);
      case Expression::Kind::sequence:
        for (const ExpressionId part : e.parts) from = build(grammar, part, from);
        return from;
      case Expression::Kind::choice: {
        const int32_t end = add();
        for (const ExpressionId part : e.parts) {
          const int32_t start = add();
          nodes[from].empty.push_back(start);
          const int32_t stop = build(grammar, part, start);
          nodes[stop].empty.push_back(end);
        }
        return end;
      }
      case Expression::Kind::repeat: {
        const ExpressionId part = e.parts.front();
        for (int64_t i = 0; i < e.least && !too_large; ++i) from = build(grammar, part, from);
        const int32_t end = add();
        if (e.most < 0) {
          const int32_t loop = add();
          nodes[from].empty.push_back(loop);
          const int32_t stop = build(grammar, part, loop);
          nodes[stop].empty.push_back(loop);
          from = loop;
        }
        for (int64_t i = e.least; i < e.most && !too_large; ++i) {
          nodes[from].empty.push_back(end);
          from = build(grammar, part, from);
        }
        nodes[from].empty.push_back(end);
        return end;
      }
      case Expression::Kind::rule:
      case Expression::Kind::token:
      case Expression::Kind::machine:
      case Expression::Kind::graph:
        break;  // expressions of patterns have none
    }
    return from;
  }

  int32_t build_chars(CharSet set, int32_t from) {
    const int32_t start = add(), end = add();
    if (too_large) return from;
    nodes[from].empty.push_back(start);
    nodes[start].chars = std::move(set);
    nodes[start].to = end;
    return end;
  }

  void close(std::vector<int32_t>& set) const {
    std::vector<int32_t> open = set;
    std::vector<char> seen(nodes.size());
    for (const int32_t n : set) seen[n] = 1;
    while (!open.empty()) {
      const int32_t n = open.back();
      open.pop_back();
      for (const int32_t to : nodes[n].empty) {
        if (seen[to]) continue;
        seen[to] = 1;
        set.push_back(to);
        open.push_back(to);
      }
    }
    // Only nodes that read something, and the end, tell sets apart.
    std::erase_if(set, [&](int32_t n) { return nodes[n].to < 0 && !nodes[n].empty.empty(); });
    std::sort(set.begin(), set.end());
  }
};

// Where the ranges of several sets begin and end: between two cuts all of them agree.
std::vector<uint32_t> cuts_of(std::span<const CharSet* const> sets) {
  std::vector<uint32_t> cuts;
  for (const CharSet* set : sets) {
    for (const CharRange r : *set) {
      cuts.push_back(r.low);
      cuts.push_back(r.high + 1);
    }
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

}  // namespace

bool CharMachine::accepts(std::string_view utf8) const {
  if (states.empty()) return false;
  int32_t state = 0;
  for (size_t at = 0; at < utf8.size();) {
    const Utf8Char c = decode_utf8(utf8, at);
    if (!c.valid) return false;
    state = step(states[static_cast<size_t>(state)], c.code);
    if (state < 0) return false;
    at += static_cast<size_t>(c.bytes);
  }
  return states[static_cast<size_t>(state)].final;
}

bool CharMachine::is_empty() const {
  std::vector<char> seen(states.size());
  std::vector<int32_t> open;
  if (!states.empty()) open.push_back(0), seen[0] = 1;
  while (!open.empty()) {
    const State& s = states[static_cast<size_t>(open.back())];
    open.pop_back();
    if (s.final) return false;
    for (const Edge& e : s.edges) {
      if (seen[static_cast<size_t>(e.to)]) continue;
      seen[static_cast<size_t>(e.to)] = 1;
      open.push_back(e.to);
    }
  }
  return true;
}

CharMachine machine_of_texts(std::span<const std::string> texts) {
  CharMachine m;
  std::vector<std::map<uint32_t, int32_t>> next(1);
  std::vector<bool> final(1);
  for (const std::string& text : texts) {
    int32_t at_state = 0;
    for (size_t at = 0; at < text.size();) {
      const Utf8Char c = decode_utf8(text, at);
      at += static_cast<size_t>(c.bytes);
      const auto [place, is_new] = next[static_cast<size_t>(at_state)].try_emplace(
          c.code, static_cast<int32_t>(next.size()));
      at_state = place->second;
      if (is_new) next.emplace_back(), final.push_back(false);
    }
    final[static_cast<size_t>(at_state)] = true;
  }
  for (size_t i = 0; i < next.size(); ++i) {
    State s{.final = final[i], .edges = {}};
    for (const auto& [code, to] : next[i]) s.edges.push_back({{code, code}, to});
    m.states.push_back(std::move(s));
  }
  return reduced(m);
}

CharMachine machine_of_length(int64_t least, int64_t most) {
  CharMachine m;
  const int64_t n = most < 0 ? least : most;
  for (int64_t i = 0; i <= n; ++i) {
    State s{.final = i >= least && (most < 0 || i <= most), .edges = {}};
    const int64_t to = i < n ? i + 1 : most < 0 ? i : -1;
    if (to >= 0) {
      for (const CharRange r : all_chars()) s.edges.push_back({r, static_cast<int32_t>(to)});
    }
    m.states.push_back(std::move(s));
  }
  return m;
}

Result<CharMachine> machine_of_expression(const Grammar& grammar, int32_t expression) {
  Nfa nfa;
  const int32_t first = nfa.add();
  const int32_t end = nfa.build(grammar, expression, first);
  if (nfa.too_large) return too_large();
  CharMachine m;
  std::map<std::vector<int32_t>, int32_t> known;
  std::vector<std::vector<int32_t>> sets;
  int64_t total = 0;
  const auto state_of = [&](std::vector<int32_t> set) {
    nfa.close(set);
    const auto [place, is_new] = known.try_emplace(set, static_cast<int32_t>(sets.size()));
    if (is_new) total += std::ssize(set), sets.push_back(std::move(set));
    return place->second;
  };
  state_of({first});
  for (size_t i = 0; i < sets.size(); ++i) {
    if (std::ssize(sets) > kMaxMachineStates || total > 100 * kMaxMachineStates) return too_large();
    const std::vector<int32_t> set = sets[i];
    State state{.final = std::binary_search(set.begin(), set.end(), end), .edges = {}};
    std::vector<const CharSet*> read;
    for (const int32_t n : set) read.push_back(&nfa.nodes[n].chars);
    const std::vector<uint32_t> cuts = cuts_of(read);
    for (size_t c = 0; c + 1 < cuts.size(); ++c) {
      std::vector<int32_t> reached;
      for (const int32_t n : set) {
        if (contains(nfa.nodes[n].chars, cuts[c])) reached.push_back(nfa.nodes[n].to);
      }
      if (reached.empty()) continue;
      std::sort(reached.begin(), reached.end());
      reached.erase(std::unique(reached.begin(), reached.end()), reached.end());
      add_edge(state, {cuts[c], cuts[c + 1] - 1}, state_of(std::move(reached)));
    }
    m.states.push_back(std::move(state));
  }
  return reduced(m);
}

Result<CharMachine> both(const CharMachine& a, const CharMachine& b) {
  CharMachine m;
  if (a.states.empty() || b.states.empty()) return m;
  std::map<std::pair<int32_t, int32_t>, int32_t> known;
  std::vector<std::pair<int32_t, int32_t>> pairs;
  const auto state_of = [&](int32_t x, int32_t y) {
    const auto [place, is_new] = known.try_emplace({x, y}, static_cast<int32_t>(pairs.size()));
    if (is_new) pairs.emplace_back(x, y);
    return place->second;
  };
  state_of(0, 0);
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (std::ssize(pairs) > kMaxMachineStates) return too_large();
    const State& x = a.states[static_cast<size_t>(pairs[i].first)];
    const State& y = b.states[static_cast<size_t>(pairs[i].second)];
    State state{.final = x.final && y.final, .edges = {}};
    for (size_t p = 0, q = 0; p < x.edges.size() && q < y.edges.size();) {
      const Edge &e = x.edges[p], &f = y.edges[q];
      const uint32_t low = std::max(e.range.low, f.range.low);
      const uint32_t high = std::min(e.range.high, f.range.high);
      if (low <= high) add_edge(state, {low, high}, state_of(e.to, f.to));
      e.range.high < f.range.high ? ++p : ++q;
    }
    m.states.push_back(std::move(state));
  }
  return reduced(m);
}

CharMachine complement(const CharMachine& a) {
  CharMachine m = a;
  if (m.states.empty()) m.states.emplace_back();
  const auto rest = static_cast<int32_t>(m.states.size());
  m.states.emplace_back();
  for (State& s : m.states) {
    CharSet covered;
    for (const Edge& e : s.edges) covered.push_back(e.range);
    for (const CharRange r : complement(make_char_set(covered))) s.edges.push_back({r, rest});
    std::sort(s.edges.begin(), s.edges.end(),
              [](const Edge& x, const Edge& y) { return x.range.low < y.range.low; });
    s.final = !s.final;
  }
  return reduced(m);
}

// Moore's refinement: states are alike until their ends or their successors tell them apart.
CharMachine reduced(const CharMachine& a) {
  const size_t n = a.states.size();
  std::vector<std::vector<int32_t>> back(n);
  for (size_t i = 0; i < n; ++i) {
    for (const Edge& e : a.states[i].edges)
      back[static_cast<size_t>(e.to)].push_back(static_cast<int32_t>(i));
  }
  std::vector<char> useful(n);
  std::vector<int32_t> open;
  for (size_t i = 0; i < n; ++i) {
    if (a.states[i].final) useful[i] = 1, open.push_back(static_cast<int32_t>(i));
  }
  while (!open.empty()) {
    const auto i = static_cast<size_t>(open.back());
    open.pop_back();
    for (const int32_t from : back[i]) {
      if (useful[static_cast<size_t>(from)]) continue;
      useful[static_cast<size_t>(from)] = 1;
      open.push_back(from);
    }
  }
  if (n == 0 || !useful[0]) return {};

  std::vector<int32_t> group(n, 0);
  for (size_t i = 0; i < n; ++i) group[i] = a.states[i].final;
  size_t n_groups = 0;
  // A chain of L states takes L rounds: long ones are left as they are, which only costs memory.
  const int max_rounds = n > 2000 ? 20 : 200;
  for (int round = 0; round < max_rounds; ++round) {
    using Signature = std::pair<int32_t, std::vector<std::pair<uint64_t, int32_t>>>;
    std::map<Signature, int32_t> known;
    std::vector<int32_t> next(n);
    for (size_t i = 0; i < n; ++i) {
      Signature s{group[i], {}};
      for (const Edge& e : a.states[i].edges) {
        if (!useful[static_cast<size_t>(e.to)]) continue;
        const int32_t to = group[static_cast<size_t>(e.to)];
        if (!s.second.empty() && s.second.back().second == to &&
            (s.second.back().first & 0xFFFFFFFFu) + 1 == e.range.low) {
          s.second.back().first = (s.second.back().first & ~uint64_t{0xFFFFFFFFu}) | e.range.high;
        } else {
          s.second.emplace_back(uint64_t{e.range.low} << 32 | e.range.high, to);
        }
      }
      next[i] = known.try_emplace(std::move(s), static_cast<int32_t>(known.size())).first->second;
    }
    const bool stable = known.size() == n_groups;
    n_groups = known.size();
    group = std::move(next);
    if (stable) break;
    if (round + 1 == max_rounds) {
      for (size_t i = 0; i < n; ++i) group[i] = static_cast<int32_t>(i);
      n_groups = n;
    }
  }
  // Groups in the order in which they are met from the start.
  std::vector<int32_t> number(n_groups, -1);
  std::vector<size_t> example;
  const auto visit = [&](size_t i) {
    int32_t& id = number[static_cast<size_t>(group[i])];
    if (id < 0) id = static_cast<int32_t>(example.size()), example.push_back(i);
    return id;
  };
  CharMachine m;
  visit(0);
  for (size_t k = 0; k < example.size(); ++k) {
    const State& s = a.states[example[k]];
    State out{.final = s.final, .edges = {}};
    for (const Edge& e : s.edges) {
      if (useful[static_cast<size_t>(e.to)])
        add_edge(out, e.range, visit(static_cast<size_t>(e.to)));
    }
    m.states.push_back(std::move(out));
  }
  return m;
}

}  // namespace etch
