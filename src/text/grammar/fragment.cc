#include "text/grammar/fragment.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

namespace etch {

namespace {

using State = Fragment::State;

struct HashNodes {
  size_t operator()(const std::vector<int32_t>& nodes) const {
    return std::hash<std::string_view>()(
        {reinterpret_cast<const char*>(nodes.data()), nodes.size() * sizeof(int32_t)});
  }
};

void add_byte_edge(State& state, uint8_t low, uint8_t high, int32_t to) {
  if (!state.bytes.empty() && state.bytes.back().to == to && state.bytes.back().high + 1 == low) {
    state.bytes.back().high = high;
  } else {
    state.bytes.push_back({low, high, to});
  }
}

// Keeps the states marked, in order of their first meeting from the start; edges to others go.
Fragment renumbered(const Fragment& f, const std::vector<int32_t>& group,
                    const std::vector<char>& useful) {
  Fragment out;
  if (f.states.empty() || !useful[0]) return out;
  const int32_t n_groups = 1 + *std::max_element(group.begin(), group.end());
  std::vector<int32_t> number(static_cast<size_t>(n_groups), -1);
  std::vector<size_t> example;
  const auto visit = [&](int32_t state) {
    int32_t& id = number[static_cast<size_t>(group[static_cast<size_t>(state)])];
    if (id < 0) {
      id = static_cast<int32_t>(example.size());
      example.push_back(static_cast<size_t>(state));
    }
    return id;
  };
  const auto is_useful = [&](int32_t state) { return useful[static_cast<size_t>(state)] != 0; };
  visit(0);
  for (size_t k = 0; k < example.size(); ++k) {
    const State& s = f.states[example[k]];
    State kept{.final = s.final, .bytes = {}, .calls = {}, .tokens = {}};
    for (const auto& e : s.bytes) {
      if (is_useful(e.to)) add_byte_edge(kept, e.low, e.high, visit(e.to));
    }
    for (const auto& e : s.calls) {
      if (is_useful(e.to)) kept.calls.push_back({e.rule, visit(e.to)});
    }
    for (const auto& e : s.tokens) {
      if (is_useful(e.to)) kept.tokens.push_back({e.token, visit(e.to)});
    }
    out.states.push_back(std::move(kept));
  }
  return out;
}

// States from which an end can be reached. Every rule that is called can match something.
std::vector<char> useful_states(const Fragment& f) {
  const size_t n = f.states.size();
  std::vector<std::vector<int32_t>> back(n);
  const auto add = [&](size_t from, int32_t to) {
    back[static_cast<size_t>(to)].push_back(static_cast<int32_t>(from));
  };
  std::vector<int32_t> open;
  std::vector<char> useful(n);
  for (size_t i = 0; i < n; ++i) {
    for (const auto& e : f.states[i].bytes) add(i, e.to);
    for (const auto& e : f.states[i].calls) add(i, e.to);
    for (const auto& e : f.states[i].tokens) add(i, e.to);
    if (f.states[i].final) useful[i] = 1, open.push_back(static_cast<int32_t>(i));
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
  return useful;
}

// Moore's refinement, as far as it gets in so many rounds: groups that are not yet told apart would
// be joined wrongly, so an unfinished one joins nothing. Long chains are the unfinished ones, and
// they have little to join.
std::vector<int32_t> equal_states(const Fragment& f, const std::vector<char>& useful) {
  const size_t n = f.states.size();
  std::vector<int32_t> group(n);
  size_t n_groups = 1;
  const int max_rounds = n > 5000 ? 10 : n > 500 ? 40 : 500;
  for (int round = 0; round < max_rounds; ++round) {
    std::map<std::pair<int32_t, State>, int32_t> known;
    std::vector<int32_t> next(n);
    for (size_t i = 0; i < n; ++i) {
      State s{.final = f.states[i].final, .bytes = {}, .calls = {}, .tokens = {}};
      const auto group_of = [&](int32_t to) { return group[static_cast<size_t>(to)]; };
      for (const auto& e : f.states[i].bytes) {
        if (useful[static_cast<size_t>(e.to)]) add_byte_edge(s, e.low, e.high, group_of(e.to));
      }
      for (const auto& e : f.states[i].calls) {
        if (useful[static_cast<size_t>(e.to)]) s.calls.push_back({e.rule, group_of(e.to)});
      }
      for (const auto& e : f.states[i].tokens) {
        if (useful[static_cast<size_t>(e.to)]) s.tokens.push_back({e.token, group_of(e.to)});
      }
      next[i] = known.try_emplace({group[i], std::move(s)}, static_cast<int32_t>(known.size()))
                    .first->second;
    }
    group = std::move(next);
    if (known.size() == n_groups) return group;
    n_groups = known.size();
  }
  for (size_t i = 0; i < n; ++i) group[i] = static_cast<int32_t>(i);
  return group;
}

}  // namespace

bool Fragment::is_prefix_free() const {
  return std::none_of(states.begin(), states.end(),
                      [](const State& s) { return s.final && s.has_edges(); });
}

int32_t EmptyStepFragment::add() {
  too_large_ |= size() >= max_size;
  if (!too_large_ || nodes_.empty()) nodes_.emplace_back();
  return static_cast<int32_t>(size() - 1);
}

// A node has room for two steps; a third and later one hang on a node between.
void EmptyStepFragment::join(int32_t from, int32_t to) {
  if (too_large_) return;
  for (int32_t& slot : nodes_[static_cast<size_t>(from)].empty) {
    if (slot < 0) {
      slot = to;
      return;
    }
  }
  const int32_t between = add();
  if (too_large_) return;
  Node& node = nodes_[static_cast<size_t>(from)];
  nodes_[static_cast<size_t>(between)].empty[0] = node.empty[1];
  nodes_[static_cast<size_t>(between)].empty[1] = to;
  node.empty[1] = between;
}

int32_t EmptyStepFragment::read_bytes(int32_t from, uint8_t low, uint8_t high) {
  const int32_t reader = add(), to = add();
  if (too_large_) return from;
  join(from, reader);
  Node& node = nodes_[static_cast<size_t>(reader)];
  node.reads = Reads::byte, node.low = low, node.high = high, node.to = to;
  return to;
}

int32_t EmptyStepFragment::read(int32_t from, Reads kind, int32_t what) {
  const int32_t reader = add(), to = add();
  if (too_large_) return from;
  join(from, reader);
  Node& node = nodes_[static_cast<size_t>(reader)];
  node.reads = kind, node.what = what, node.to = to;
  return to;
}

int32_t EmptyStepFragment::copy(int32_t from, const Fragment& fragment) {
  const int32_t end = add();
  std::vector<int32_t> places;
  for (size_t i = 0; i < fragment.states.size(); ++i) places.push_back(add());
  const auto edge = [&](size_t state, Node reader) {
    const int32_t node = add();
    if (too_large_) return;
    nodes_[static_cast<size_t>(node)] = reader;
    join(places[state], node);
  };
  for (size_t i = 0; i < fragment.states.size() && !too_large_; ++i) {
    const State& s = fragment.states[i];
    const auto place = [&](int32_t to) { return places[static_cast<size_t>(to)]; };
    for (const auto& e : s.bytes)
      edge(i, {.reads = Reads::byte, .low = e.low, .high = e.high, .to = place(e.to)});
    for (const auto& e : s.calls)
      edge(i, {.reads = Reads::call, .what = e.rule, .to = place(e.to)});
    for (const auto& e : s.tokens)
      edge(i, {.reads = Reads::token, .what = e.token, .to = place(e.to)});
    if (s.final) join(places[i], end);
  }
  if (!places.empty()) join(from, places.front());
  return end;
}

// All nodes that empty steps lead to; of them only those that read, and `0`, the end, tell sets
// apart, which is left to the callers.
std::vector<int32_t> EmptyStepFragment::closure(std::vector<int32_t> nodes,
                                                std::vector<int32_t>& marks, int32_t mark) const {
  for (const int32_t n : nodes) marks[static_cast<size_t>(n)] = mark;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const int32_t to : nodes_[static_cast<size_t>(nodes[i])].empty) {
      if (to < 0 || marks[static_cast<size_t>(to)] == mark) continue;
      marks[static_cast<size_t>(to)] = mark;
      nodes.push_back(to);
    }
  }
  return nodes;
}

bool EmptyStepFragment::determinise(int32_t start, int32_t end, Fragment& out) const {
  const int64_t max_states = 4 * size() + 2000, max_work = 40 * size() + 2'000'000;
  std::unordered_map<std::vector<int32_t>, int32_t, HashNodes> known;
  std::vector<std::vector<int32_t>> sets;
  std::vector<int32_t> marks(nodes_.size(), -1);
  int32_t mark = 0;
  int64_t work = 0;
  const auto state_of = [&](std::vector<int32_t> nodes) {
    std::vector<int32_t> set = closure(std::move(nodes), marks, mark++);
    work += std::ssize(set);
    std::erase_if(set, [&](int32_t n) {
      return nodes_[static_cast<size_t>(n)].reads == Reads::nothing && n != end;
    });
    std::sort(set.begin(), set.end());
    const auto [place, is_new] = known.try_emplace(set, static_cast<int32_t>(sets.size()));
    if (is_new) sets.push_back(std::move(set));
    return place->second;
  };
  state_of({start});
  for (size_t i = 0; i < sets.size(); ++i) {
    if (std::ssize(sets) > max_states || work > max_work) return false;
    State state;
    std::array<bool, 257> cut{};
    std::map<std::pair<Reads, int32_t>, std::vector<int32_t>> whats;
    const std::vector<int32_t> set = sets[i];
    for (const int32_t n : set) {
      const Node& node = nodes_[static_cast<size_t>(n)];
      state.final |= n == end;
      if (node.reads == Reads::byte) {
        cut[node.low] = cut[node.high + 1u] = true;
      } else if (node.reads != Reads::nothing) {
        whats[{node.reads, node.what}].push_back(node.to);
      }
    }
    for (size_t low = 0; low < 256;) {
      size_t next = low + 1;
      while (next < 256 && !cut[next]) ++next;
      std::vector<int32_t> reached;
      for (const int32_t n : set) {
        const Node& node = nodes_[static_cast<size_t>(n)];
        if (node.reads == Reads::byte && node.low <= low && low <= node.high)
          reached.push_back(node.to);
      }
      work += std::ssize(set);
      if (!reached.empty()) {
        add_byte_edge(state, static_cast<uint8_t>(low), static_cast<uint8_t>(next - 1),
                      state_of(std::move(reached)));
      }
      low = next;
    }
    for (auto& [what, reached] : whats) {
      const int32_t to = state_of(std::move(reached));
      if (what.first == Reads::call) state.calls.push_back({what.second, to});
      if (what.first == Reads::token) state.tokens.push_back({what.second, to});
    }
    out.states.push_back(std::move(state));
  }
  return true;
}

bool EmptyStepFragment::drop_empty_steps(int32_t start, int32_t end, Fragment& out) const {
  std::vector<int32_t> number(nodes_.size(), -1), order, marks(nodes_.size(), -1);
  const auto visit = [&](int32_t n) {
    int32_t& id = number[static_cast<size_t>(n)];
    if (id < 0) id = static_cast<int32_t>(order.size()), order.push_back(n);
    return id;
  };
  visit(start);
  int64_t edges = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    State state;
    for (const int32_t n : closure({order[i]}, marks, static_cast<int32_t>(i))) {
      const Node& node = nodes_[static_cast<size_t>(n)];
      state.final |= n == end;
      if (node.reads == Reads::byte) state.bytes.push_back({node.low, node.high, visit(node.to)});
      if (node.reads == Reads::call) state.calls.push_back({node.what, visit(node.to)});
      if (node.reads == Reads::token) state.tokens.push_back({node.what, visit(node.to)});
      if (++edges > 8'000'000) return false;
    }
    std::sort(state.bytes.begin(), state.bytes.end());
    out.states.push_back(std::move(state));
  }
  return true;
}

Fragment EmptyStepFragment::finish(int32_t start, int32_t end) const {
  Fragment raw;
  if (!determinise(start, end, raw)) {
    raw = {};
    if (!drop_empty_steps(start, end, raw)) return {};
  }
  const std::vector<char> useful = useful_states(raw);
  return renumbered(raw, equal_states(raw, useful), useful);
}

}  // namespace etch
