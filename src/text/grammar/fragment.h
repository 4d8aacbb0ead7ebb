// Fragment: the automaton of one rule while it is built; its states are its own, the first is where
// it starts.
#pragma once

#include <vector>

#include "text/grammar/automaton.h"

namespace etch {

struct Fragment {
  struct State {
    bool final = false;
    std::vector<Automaton::ByteEdge> bytes;
    std::vector<Automaton::CallEdge> calls;
    std::vector<Automaton::TokenEdge> tokens;
    bool has_edges() const { return !bytes.empty() || !calls.empty() || !tokens.empty(); }
    auto operator<=>(const State&) const = default;
  };
  std::vector<State> states;

  // Once it may end it must: nothing that it matches is the beginning of something else it matches.
  bool is_prefix_free() const;
};

// A fragment with empty steps: what expressions are turned into first.
class EmptyStepFragment {
 public:
  enum class Reads : uint8_t { nothing, byte, call, token };
  struct Node {
    Reads reads = Reads::nothing;
    uint8_t low = 0, high = 0;
    int32_t what = 0;             // rule or token
    int32_t to = -1;              // behind what it reads
    int32_t empty[2] = {-1, -1};  // steps that read nothing
  };
  int32_t add();  // a node; the last one again once there are too many
  void join(int32_t from, int32_t to);
  int32_t read_bytes(int32_t from, uint8_t low, uint8_t high);
  int32_t read(int32_t from, Reads kind, int32_t what);
  int32_t copy(int32_t from, const Fragment& fragment);
  bool too_large() const { return too_large_; }
  int64_t size() const { return static_cast<int64_t>(nodes_.size()); }
  int64_t max_size = 300'000;

  // Deterministic where that takes a sensible number of states, else only without empty steps;
  // equal states joined, none that leads nowhere. Empty: it matches nothing.
  Fragment finish(int32_t start, int32_t end) const;

 private:
  std::vector<int32_t> closure(std::vector<int32_t> nodes, std::vector<int32_t>& marks,
                               int32_t mark) const;
  bool determinise(int32_t start, int32_t end, Fragment& out) const;
  bool drop_empty_steps(int32_t start, int32_t end, Fragment& out) const;
  std::vector<Node> nodes_;
  bool too_large_ = false;
};

}  // namespace etch
