// Meeting: where the values of two runs find each other. A run that is ahead waits: while it has
// values here that the other has not brought, and the other has none that it would have to bring
// first, it goes no further. So both never wait, and little is held.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace etch {

class Meeting {
 public:
  using Key = std::pair<int, ValueId>;  // observed step, value of A
  // Called for each pair by whoever comes second, one at a time.
  using Pair = std::function<void(Key key, std::vector<float> a, std::vector<float> b)>;

  explicit Meeting(Pair pair) : pair_(std::move(pair)) {}

  // Side 0 is A, side 1 is B.
  void bring(int side, Key key, std::vector<float> numbers) {
    std::unique_lock lock(mutex_);
    auto& own = waiting_[side];
    auto& others = waiting_[1 - side];
    if (const auto it = others.find(key); it != others.end()) {
      std::vector<float> other = std::move(it->second);
      others.erase(it);
      if (side == 0)
        pair_(key, std::move(numbers), std::move(other));
      else
        pair_(key, std::move(other), std::move(numbers));
      changed_.notify_all();
      return;
    }
    own.emplace(key, std::move(numbers));
    changed_.notify_all();
    changed_.wait(lock, [&] { return own.empty() || !others.empty() || left_[1 - side]; });
  }

  void leave(int side) {
    const std::lock_guard lock(mutex_);
    left_[side] = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, std::vector<float>> waiting_[2];
  bool left_[2] = {false, false};
  Pair pair_;
};

}  // namespace etch
