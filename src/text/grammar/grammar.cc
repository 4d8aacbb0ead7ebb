#include "text/grammar/grammar.h"

#include <algorithm>

namespace etch {

using Kind = Expression::Kind;

ExpressionId Grammar::add(Expression e) {
  for (const ExpressionId part : e.parts) e.depth = std::max(e.depth, at(part).depth + 1);
  expressions.push_back(std::move(e));
  return static_cast<ExpressionId>(expressions.size() - 1);
}

ExpressionId Grammar::text(std::string_view text) {
  return add({.kind = Kind::text, .text = std::string(text)});
}
ExpressionId Grammar::chars(CharSet set) {
  return add({.kind = Kind::chars, .chars = std::move(set)});
}
ExpressionId Grammar::sequence(std::vector<ExpressionId> parts) {
  if (parts.empty()) return text("");
  if (parts.size() == 1) return parts.front();
  return add({.kind = Kind::sequence, .parts = std::move(parts)});
}
ExpressionId Grammar::choice(std::vector<ExpressionId> parts) {
  if (parts.empty()) return chars({});
  if (parts.size() == 1) return parts.front();
  return add({.kind = Kind::choice, .parts = std::move(parts)});
}
ExpressionId Grammar::repeat(ExpressionId part, int64_t least, int64_t most) {
  if (least == 1 && most == 1) return part;
  return add({.kind = Kind::repeat, .least = least, .most = most, .parts = {part}});
}
ExpressionId Grammar::call(int32_t rule) { return add({.kind = Kind::rule, .index = rule}); }
ExpressionId Grammar::token(int32_t id, std::string_view text, bool negated) {
  return add({.kind = Kind::token, .negated = negated, .index = id, .text = std::string(text)});
}
ExpressionId Grammar::machine(CharMachine machine, bool json_escaped) {
  machines.push_back(std::move(machine));
  return add({.kind = Kind::machine,
              .json_escaped = json_escaped,
              .index = static_cast<int32_t>(machines.size() - 1)});
}
ExpressionId Grammar::graph(ExpressionGraph graph) {
  Expression e{.kind = Kind::graph, .index = static_cast<int32_t>(graphs.size())};
  for (const auto& edge : graph.edges) e.parts.push_back(edge.label);
  graphs.push_back(std::move(graph));
  return add(std::move(e));
}
int32_t Grammar::add_rule(std::string_view name, ExpressionId body) {
  rules.push_back({std::string(name), body});
  return static_cast<int32_t>(rules.size() - 1);
}

bool Grammar::uses_tokens() const {
  return std::any_of(expressions.begin(), expressions.end(),
                     [](const Expression& e) { return e.kind == Kind::token; });
}

namespace {

// Can a final node be reached over edges whose labels satisfy `passes`?
template <class Passes>
bool has_way(const ExpressionGraph& graph, const Passes& passes) {
  std::vector<std::vector<size_t>> from(graph.final.size());
  for (size_t i = 0; i < graph.edges.size(); ++i)
    from[static_cast<size_t>(graph.edges[i].from)].push_back(i);
  std::vector<char> seen(graph.final.size());
  std::vector<int32_t> open{0};
  while (!open.empty()) {
    const auto node = static_cast<size_t>(open.back());
    open.pop_back();
    if (seen[node]) continue;
    seen[node] = 1;
    if (graph.final[node]) return true;
    for (const size_t i : from[node]) {
      const auto& edge = graph.edges[i];
      if (!seen[static_cast<size_t>(edge.to)] && passes(edge.label)) open.push_back(edge.to);
    }
  }
  return false;
}

}  // namespace

bool is_nullable(const Grammar& grammar, const GrammarFacts& facts, ExpressionId id) {
  const Expression& e = grammar.at(id);
  const auto nullable = [&](ExpressionId part) { return is_nullable(grammar, facts, part); };
  switch (e.kind) {
    case Kind::text:
      return e.text.empty();
    case Kind::chars:
    case Kind::token:
      return false;
    case Kind::sequence:
      return std::all_of(e.parts.begin(), e.parts.end(), nullable);
    case Kind::choice:
      return std::any_of(e.parts.begin(), e.parts.end(), nullable);
    case Kind::repeat:
      return e.least == 0 || nullable(e.parts.front());
    case Kind::rule:
      return facts.is_nullable[static_cast<size_t>(e.index)];
    case Kind::machine: {
      const CharMachine& m = grammar.machines[static_cast<size_t>(e.index)];
      return !m.states.empty() && m.states.front().final;
    }
    case Kind::graph:
      return has_way(grammar.graphs[static_cast<size_t>(e.index)], nullable);
  }
  return false;
}

bool is_productive(const Grammar& grammar, const GrammarFacts& facts, ExpressionId id) {
  const Expression& e = grammar.at(id);
  const auto productive = [&](ExpressionId part) { return is_productive(grammar, facts, part); };
  switch (e.kind) {
    case Kind::text:
    case Kind::token:
      return true;
    case Kind::chars:
      return !e.chars.empty();
    case Kind::sequence:
      return std::all_of(e.parts.begin(), e.parts.end(), productive);
    case Kind::choice:
      return std::any_of(e.parts.begin(), e.parts.end(), productive);
    case Kind::repeat:
      return e.least == 0 || productive(e.parts.front());
    case Kind::rule:
      return facts.is_productive[static_cast<size_t>(e.index)];
    case Kind::machine:
      return !grammar.machines[static_cast<size_t>(e.index)].is_empty();
    case Kind::graph:
      return has_way(grammar.graphs[static_cast<size_t>(e.index)], productive);
  }
  return false;
}

// Least fixed points: nothing is nullable or productive until something shows that it is. Rules
// whose callees changed are looked at again, so that a long chain of rules costs no more than its
// length.
GrammarFacts find_facts(const Grammar& grammar) {
  const size_t n = grammar.rules.size();
  GrammarFacts facts{std::vector<bool>(n), std::vector<bool>(n)};
  std::vector<std::vector<int32_t>> callers(n);
  for (size_t r = 0; r < n; ++r) {
    std::vector<ExpressionId> open;
    if (grammar.rules[r].body >= 0) open.push_back(grammar.rules[r].body);
    while (!open.empty()) {
      const Expression& e = grammar.at(open.back());
      open.pop_back();
      if (e.kind == Kind::rule)
        callers[static_cast<size_t>(e.index)].push_back(static_cast<int32_t>(r));
      open.insert(open.end(), e.parts.begin(), e.parts.end());
    }
  }
  std::vector<int32_t> open;
  for (size_t r = 0; r < n; ++r) open.push_back(static_cast<int32_t>(r));
  while (!open.empty()) {
    const auto r = static_cast<size_t>(open.back());
    open.pop_back();
    const ExpressionId body = grammar.rules[r].body;
    if (body < 0) continue;
    const bool nullable = is_nullable(grammar, facts, body);
    const bool productive = is_productive(grammar, facts, body);
    if (nullable == facts.is_nullable[r] && productive == facts.is_productive[r]) continue;
    facts.is_nullable[r] = nullable;
    facts.is_productive[r] = productive;
    open.insert(open.end(), callers[r].begin(), callers[r].end());
  }
  return facts;
}

namespace {

// The rules an expression may call before it has matched anything.
void add_first_calls(const Grammar& grammar, const GrammarFacts& facts, ExpressionId id,
                     std::vector<int32_t>& calls) {
  const Expression& e = grammar.at(id);
  if (e.kind == Kind::rule) calls.push_back(e.index);
  for (const ExpressionId part : e.parts) {
    add_first_calls(grammar, facts, part, calls);
    if (e.kind == Kind::sequence && !is_nullable(grammar, facts, part)) break;
  }
}

}  // namespace

std::string find_left_recursion(const Grammar& grammar) {
  const GrammarFacts facts = find_facts(grammar);
  const size_t n = grammar.rules.size();
  std::vector<std::vector<int32_t>> calls(n);
  for (size_t r = 0; r < n; ++r) {
    if (grammar.rules[r].body >= 0)
      add_first_calls(grammar, facts, grammar.rules[r].body, calls[r]);
  }
  enum : char { unseen, on_path, done };
  std::vector<char> state(n, unseen);
  for (size_t first = 0; first < n; ++first) {
    if (state[first] != unseen) continue;
    std::vector<std::pair<int32_t, size_t>> path{{static_cast<int32_t>(first), 0}};
    state[first] = on_path;
    while (!path.empty()) {
      auto& [rule, next] = path.back();
      const auto& own = calls[static_cast<size_t>(rule)];
      if (next == own.size()) {
        state[static_cast<size_t>(rule)] = done;
        path.pop_back();
        continue;
      }
      const int32_t to = own[next++];
      if (state[static_cast<size_t>(to)] == on_path) {
        std::string cycle;
        bool inside = false;
        for (const auto& [r, at] : path) {
          inside |= r == to;
          if (inside) cycle += grammar.rules[static_cast<size_t>(r)].name + " -> ";
        }
        return cycle + grammar.rules[static_cast<size_t>(to)].name;
      }
      if (state[static_cast<size_t>(to)] == unseen) {
        state[static_cast<size_t>(to)] = on_path;
        path.emplace_back(to, 0);
      }
    }
  }
  return "";
}

}  // namespace etch
