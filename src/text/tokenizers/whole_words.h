// WholeWords: which tokens come out of merging their own text. Most words of a text are tokens as a
// whole, and for those one look-up replaces the merging; but a vocabulary may hold tokens that
// merging never reaches, so each is tried the first time it is met.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace etch {

class WholeWords {
 public:
  enum class State : uint8_t { untried, reached, unreached };

  explicit WholeWords(int64_t n_tokens)
      : states_(new std::atomic<uint8_t>[static_cast<size_t>(n_tokens)]()) {}
  // Several threads may try the same token: they come to the same answer.
  State state(int32_t id) const {
    return static_cast<State>(states_[id].load(std::memory_order_relaxed));
  }
  void set(int32_t id, bool reached) const {
    states_[id].store(static_cast<uint8_t>(reached ? State::reached : State::unreached),
                      std::memory_order_relaxed);
  }

 private:
  std::unique_ptr<std::atomic<uint8_t>[]> states_;
};

}  // namespace etch
