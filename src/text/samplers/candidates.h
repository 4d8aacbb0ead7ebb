// Candidates: what the steps of a sampler work on. They start as the whole vocabulary, where
// candidate i is token i and no list of ids is kept; the first step that leaves some out makes the
// list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace etch {

class Candidates {
 public:
  std::vector<float> logits;  // -inf: probability 0
  std::vector<int32_t> ids;   // empty while whole
  bool whole = true;          // candidate i is token i
  bool sorted = false;        // descending logit, equal ones by ascending id

  int64_t size() const { return static_cast<int64_t>(logits.size()); }
  int32_t id(int64_t i) const {
    return whole ? static_cast<int32_t>(i) : ids[static_cast<size_t>(i)];
  }

  void keep(const std::vector<int64_t>& places);  // these, in this order
  void keep_best(int64_t k);  // the k best, sorted; all of them sorted if there are no more
  void sort() { keep_best(size()); }
  float max_logit() const;  // -inf if there is none
  int64_t argmax() const;   // of equals the lowest id; -1 if empty
  // e^(logit - max) of each, and their sum; both in double.
  double exponentials(std::vector<double>& weights) const;
};

}  // namespace etch
