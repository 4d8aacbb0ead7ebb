#include <algorithm>
#include <map>
#include <optional>

#include "text/grammar/automaton.h"
#include "text/grammar/fragment.h"
#include "text/utf8.h"

namespace etch {

namespace {

using Kind = Expression::Kind;
using Reads = EmptyStepFragment::Reads;

// A set of characters that takes more byte ranges than this becomes a rule of its own, so that
// `[\p{L}]{1,100}` does not hold it a hundred times.
constexpr size_t kMaxInlineRanges = 24;
// A rule that ends by itself (a JSON string: by its quote) is called, so that what is worked out
// about its states serves all its callers; only a small one is copied.
constexpr size_t kSmallRule = 8;
constexpr size_t kMaxCopiedStates = 4096;

class Builder {
 public:
  explicit Builder(const Grammar& grammar) : grammar_(grammar), facts_(find_facts(grammar)) {}

  Result<Automaton> build() {
    ETCH_TRY(check());
    for (const GrammarRule& rule : grammar_.rules) {
      out_.rules.push_back({.name = rule.name});
      out_.rules.back().is_nullable = facts_.is_nullable[out_.rules.size() - 1];
    }
    fragments_.resize(grammar_.rules.size());
    for (const int32_t rule : order_) ETCH_TRY(build_rule(rule));
    lay_out();
    return std::move(out_);
  }

 private:
  Status check() {
    const auto root = static_cast<size_t>(grammar_.root);
    for (const Expression& e : grammar_.expressions) {
      if (e.depth > kMaxExpressionDepth) {
        return fail(ErrorKind::unsupported, "the grammar nests deeper than {} levels",
                    kMaxExpressionDepth);
      }
      if (e.kind == Kind::rule && grammar_.rules[static_cast<size_t>(e.index)].body < 0) {
        return fail(ErrorKind::damaged, "the rule '{}' is called, but not defined",
                    grammar_.rules[static_cast<size_t>(e.index)].name);
      }
    }
    if (!facts_.is_productive[root]) {
      return fail(ErrorKind::damaged,
                  "no text can be accepted: the rule '{}' never comes to an end",
                  grammar_.rules[root].name);
    }
    find_order();
    return {};
  }

  // Tarjan's strongly connected components from the root: callees before callers, and which rules
  // come back to themselves.
  void find_order() {
    const size_t n = grammar_.rules.size();
    recursive_.assign(n, false);
    std::vector<std::vector<int32_t>> calls(n);
    for (size_t r = 0; r < n; ++r) {
      std::vector<ExpressionId> open;
      if (grammar_.rules[r].body >= 0) open.push_back(grammar_.rules[r].body);
      while (!open.empty()) {
        const Expression& e = grammar_.at(open.back());
        open.pop_back();
        if (e.kind == Kind::rule && facts_.is_productive[static_cast<size_t>(e.index)])
          calls[r].push_back(e.index);
        open.insert(open.end(), e.parts.begin(), e.parts.end());
      }
    }
    std::vector<int32_t> index(n, -1), low(n, 0), stack;
    std::vector<char> on_stack(n);
    std::vector<std::pair<int32_t, size_t>> path;
    int32_t counter = 0;
    const auto enter = [&](int32_t r) {
      index[static_cast<size_t>(r)] = low[static_cast<size_t>(r)] = counter++;
      stack.push_back(r);
      on_stack[static_cast<size_t>(r)] = 1;
      path.emplace_back(r, 0);
    };
    enter(grammar_.root);
    while (!path.empty()) {
      const int32_t rule = path.back().first;
      const auto r = static_cast<size_t>(rule);
      if (path.back().second < calls[r].size()) {
        const int32_t to = calls[r][path.back().second++];
        const auto t = static_cast<size_t>(to);
        if (to == rule) recursive_[r] = true;
        if (index[t] < 0) {
          enter(to);
        } else if (on_stack[t]) {
          low[r] = std::min(low[r], index[t]);
        }
        continue;
      }
      path.pop_back();
      if (!path.empty()) {
        int32_t& above = low[static_cast<size_t>(path.back().first)];
        above = std::min(above, low[r]);
      }
      if (low[r] != index[r]) continue;
      const bool alone = stack.back() == rule;
      while (true) {
        const int32_t member = stack.back();
        stack.pop_back();
        on_stack[static_cast<size_t>(member)] = 0;
        if (!alone) recursive_[static_cast<size_t>(member)] = true;
        order_.push_back(member);
        if (member == rule) break;
      }
    }
  }

  Status build_rule(int32_t rule) {
    EmptyStepFragment nfa;
    const int32_t start = nfa.add();
    const int32_t end = add(nfa, grammar_.rules[static_cast<size_t>(rule)].body, start);
    Fragment f;
    if (!nfa.too_large()) f = nfa.finish(start, end);
    n_states_ += std::ssize(f.states);
    if (f.states.empty() || n_states_ > kMaxAutomatonStates) {
      return fail(
          ErrorKind::unsupported,
          "the rule '{}' takes too many states (the grammar may have {}); smaller counts of "
          "repetition take fewer",
          grammar_.rules[static_cast<size_t>(rule)].name, kMaxAutomatonStates);
    }
    fragments_[static_cast<size_t>(rule)] = std::move(f);
    return {};
  }

  bool is_copied(int32_t rule) const {
    const auto r = static_cast<size_t>(rule);
    const Fragment& f = fragments_[r];
    if (recursive_[r] || f.states.empty()) return false;
    if (f.states.size() <= kSmallRule) return true;
    return !f.is_prefix_free() && f.states.size() <= kMaxCopiedStates;
  }

  // Joins `from` with the end of the expression, which it gives. What can match nothing at all is
  // left out: its start leads nowhere.
  int32_t add(EmptyStepFragment& nfa, ExpressionId id, int32_t from) {
    const Expression& e = grammar_.at(id);
    if (nfa.too_large()) return from;
    switch (e.kind) {
      case Kind::text:
        for (const char c : e.text) {
          from = nfa.read_bytes(from, static_cast<uint8_t>(c), static_cast<uint8_t>(c));
        }
        return from;
      case Kind::chars:
        return add_chars(nfa, e.chars, from);
      case Kind::sequence:
        for (const ExpressionId part : e.parts) from = add(nfa, part, from);
        return from;
      case Kind::choice: {
        const int32_t end = nfa.add();
        for (const ExpressionId part : e.parts) {
          const int32_t start = nfa.add();
          nfa.join(from, start);
          nfa.join(add(nfa, part, start), end);
        }
        return end;
      }
      case Kind::repeat:
        return add_repeat(nfa, e, from);
      case Kind::rule:
        return add_call(nfa, e.index, from);
      case Kind::token:
        return nfa.read(from, Reads::token, token_index({e.index, e.text, e.negated}));
      case Kind::machine:
        return add_machine(nfa, e, from);
      case Kind::graph:
        return add_graph(nfa, grammar_.graphs[static_cast<size_t>(e.index)], from);
    }
    return from;
  }

  int32_t add_repeat(EmptyStepFragment& nfa, const Expression& e, int32_t from) {
    const ExpressionId part = e.parts.front();
    for (int64_t i = 0; i < e.least && !nfa.too_large(); ++i) from = add(nfa, part, from);
    const int32_t end = nfa.add();
    if (e.most < 0) {
      const int32_t loop = nfa.add();
      nfa.join(from, loop);
      nfa.join(add(nfa, part, loop), loop);
      from = loop;
    }
    for (int64_t i = e.least; i < e.most && !nfa.too_large(); ++i) {
      nfa.join(from, end);
      const int32_t start = nfa.add();
      nfa.join(from, start);
      from = add(nfa, part, start);
    }
    nfa.join(from, end);
    return end;
  }

  int32_t add_graph(EmptyStepFragment& nfa, const ExpressionGraph& graph, int32_t from) {
    const int32_t end = nfa.add();
    std::vector<int32_t> places;
    for (size_t i = 0; i < graph.final.size(); ++i) places.push_back(nfa.add());
    for (const auto& edge : graph.edges) {
      const int32_t start = nfa.add();
      nfa.join(places[static_cast<size_t>(edge.from)], start);
      nfa.join(add(nfa, edge.label, start), places[static_cast<size_t>(edge.to)]);
    }
    for (size_t i = 0; i < graph.final.size(); ++i) {
      if (graph.final[i]) nfa.join(places[i], end);
    }
    nfa.join(from, places.front());
    return end;
  }

  int32_t add_call(EmptyStepFragment& nfa, int32_t rule, int32_t from) {
    if (rule < std::ssize(grammar_.rules) && !facts_.is_productive[static_cast<size_t>(rule)])
      return nfa.add();
    if (is_copied(rule)) return nfa.copy(from, fragments_[static_cast<size_t>(rule)]);
    const int32_t to = nfa.read(from, Reads::call, rule);
    if (out_.rules[static_cast<size_t>(rule)].is_nullable) nfa.join(from, to);
    return to;
  }

  void add_utf8(EmptyStepFragment& nfa, const CharSet& set, int32_t from, int32_t end) {
    for (const CharRange range : set) {
      for (const Utf8Ranges& r : utf8_ranges(range)) {
        int32_t at = from;
        for (int i = 0; i < r.n; ++i) at = nfa.read_bytes(at, r.low[i], r.high[i]);
        nfa.join(at, end);
      }
    }
  }

  int32_t add_chars(EmptyStepFragment& nfa, const CharSet& set, int32_t from) {
    size_t n_ranges = 0;
    for (const CharRange range : set) n_ranges += utf8_ranges(range).size();
    if (n_ranges > kMaxInlineRanges) return add_call(nfa, rule_of_chars(set), from);
    const int32_t end = nfa.add();
    add_utf8(nfa, set, from, end);
    return end;
  }

  int32_t rule_of_chars(const CharSet& set) {
    for (const auto& [known, rule] : char_rules_) {
      if (known == set) return rule;
    }
    EmptyStepFragment nfa;
    const int32_t start = nfa.add(), end = nfa.add();
    add_utf8(nfa, set, start, end);
    const auto rule = static_cast<int32_t>(fragments_.size());
    fragments_.push_back(nfa.finish(start, end));
    recursive_.push_back(false);
    out_.rules.push_back({.name = fmt::format("chars-{}", rule)});
    char_rules_.emplace_back(set, rule);
    return rule;
  }

  // The states of the machine, its characters in UTF-8 or escaped for a JSON string.
  int32_t add_machine(EmptyStepFragment& nfa, const Expression& e, int32_t from) {
    const CharMachine& m = grammar_.machines[static_cast<size_t>(e.index)];
    const int32_t end = nfa.add();
    std::vector<int32_t> places;
    for (size_t i = 0; i < m.states.size(); ++i) places.push_back(nfa.add());
    for (size_t i = 0; i < m.states.size() && !nfa.too_large(); ++i) {
      std::map<int32_t, CharSet> by_target;
      for (const auto& edge : m.states[i].edges) by_target[edge.to].push_back(edge.range);
      for (const auto& [to, set] : by_target) {
        const int32_t target = places[static_cast<size_t>(to)];
        if (e.json_escaped) {
          add_json_chars(nfa, set, places[i], target);
        } else {
          nfa.join(add_chars(nfa, set, places[i]), target);
        }
      }
      if (m.states[i].final) nfa.join(places[i], end);
    }
    if (!places.empty()) nfa.join(from, places.front());
    return end;
  }

  // One spelling a character: the shortest escape where one is needed, itself elsewhere.
  void add_json_chars(EmptyStepFragment& nfa, const CharSet& set, int32_t from, int32_t to) {
    static const CharSet kEscaped =
        make_char_set({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}, {0x7F, 0x7F}});
    const CharSet plain = intersection(set, complement(kEscaped));
    if (!plain.empty()) nfa.join(add_chars(nfa, plain, from), to);
    for (const CharRange r : intersection(set, kEscaped)) {
      for (uint32_t code = r.low; code <= r.high; ++code) {
        std::string text;
        switch (code) {
          case '\b':
            text = "\\b";
            break;
          case '\t':
            text = "\\t";
            break;
          case '\n':
            text = "\\n";
            break;
          case '\f':
            text = "\\f";
            break;
          case '\r':
            text = "\\r";
            break;
          case '"':
            text = "\\\"";
            break;
          case '\\':
            text = "\\\\";
            break;
          default:
            text = fmt::format("\\u{:04x}", code);
        }
        int32_t at = from;
        for (const char c : text)
          at = nfa.read_bytes(at, static_cast<uint8_t>(c), static_cast<uint8_t>(c));
        nfa.join(at, to);
      }
    }
  }

  int32_t token_index(const Automaton::TokenName& name) {
    for (size_t i = 0; i < out_.tokens.size(); ++i) {
      if (out_.tokens[i] == name) return static_cast<int32_t>(i);
    }
    out_.tokens.push_back(name);
    return static_cast<int32_t>(out_.tokens.size()) - 1;
  }

  // The fragments that are still called, one behind the other.
  void lay_out() {
    out_.root = grammar_.root;
    std::vector<char> wanted(fragments_.size());
    std::vector<int32_t> open{grammar_.root};
    wanted[static_cast<size_t>(grammar_.root)] = 1;
    while (!open.empty()) {
      const int32_t rule = open.back();
      open.pop_back();
      place(rule);
      for (const auto& s : fragments_[static_cast<size_t>(rule)].states) {
        for (const auto& call : s.calls) {
          if (wanted[static_cast<size_t>(call.rule)]) continue;
          wanted[static_cast<size_t>(call.rule)] = 1;
          open.push_back(call.rule);
        }
      }
    }
    out_.states.push_back({.bytes = static_cast<int32_t>(out_.byte_edges.size()),
                           .calls = static_cast<int32_t>(out_.call_edges.size()),
                           .tokens = static_cast<int32_t>(out_.token_edges.size())});
    out_.followers.resize(out_.rules.size());
    for (const auto& call : out_.call_edges)
      out_.followers[static_cast<size_t>(call.rule)].push_back(call.to);
    for (auto& f : out_.followers) {
      std::sort(f.begin(), f.end());
      f.erase(std::unique(f.begin(), f.end()), f.end());
    }
    find_classes();
  }

  void place(int32_t rule) {
    const auto first = static_cast<int32_t>(out_.states.size());
    out_.rules[static_cast<size_t>(rule)].start = first;
    for (const auto& s : fragments_[static_cast<size_t>(rule)].states) {
      out_.states.push_back({.rule = rule,
                             .final = s.final,
                             .bytes = static_cast<int32_t>(out_.byte_edges.size()),
                             .calls = static_cast<int32_t>(out_.call_edges.size()),
                             .tokens = static_cast<int32_t>(out_.token_edges.size())});
      for (const auto& e : s.bytes) out_.byte_edges.push_back({e.low, e.high, e.to + first});
      for (const auto& e : s.calls) out_.call_edges.push_back({e.rule, e.to + first});
      for (const auto& e : s.tokens) out_.token_edges.push_back({e.token, e.to + first});
    }
  }

  void find_classes() {
    std::array<bool, 257> cut{};
    for (const auto& e : out_.byte_edges) {
      cut[e.low] = cut[e.high + 1u] = true;
      for (int b = e.low; b <= e.high; ++b) out_.needed_bytes.set(static_cast<size_t>(b));
    }
    for (size_t b = 0; b < 256; ++b) {
      if (b == 0 || cut[b]) out_.class_byte.push_back(static_cast<uint8_t>(b));
      out_.class_of[b] = static_cast<uint8_t>(out_.class_byte.size() - 1);
    }
  }

  const Grammar& grammar_;
  const GrammarFacts facts_;
  Automaton out_;
  std::vector<int32_t> order_;
  std::vector<bool> recursive_;
  std::vector<Fragment> fragments_;  // by rule
  std::vector<std::pair<CharSet, int32_t>> char_rules_;
  int64_t n_states_ = 0;
};

}  // namespace

Result<Automaton> build_automaton(const Grammar& grammar) { return Builder(grammar).build(); }

}  // namespace etch
