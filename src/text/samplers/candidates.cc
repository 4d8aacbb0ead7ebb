#include "text/samplers/candidates.h"

#include <algorithm>
#include <limits>

#include "text/real_math.h"

namespace etch {

namespace {

struct Entry {
  float logit;
  int32_t id;
};

bool is_better(const Entry& a, const Entry& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

}  // namespace

void Candidates::keep(const std::vector<int64_t>& places) {
  std::vector<float> kept_logits(places.size());
  std::vector<int32_t> kept_ids(places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    kept_logits[i] = logits[static_cast<size_t>(places[i])];
    kept_ids[i] = id(places[i]);
  }
  logits.swap(kept_logits);
  ids.swap(kept_ids);
  whole = false;
}

// A heap of the k best so far with the worst on top: of n values in random order only some k ln(n /
// k) get into it, so a vocabulary of 260,000 costs little more than one comparison each.
void Candidates::keep_best(int64_t k) {
  const int64_t n = size();
  k = std::clamp<int64_t>(k, 0, n);
  if (sorted) {
    logits.resize(static_cast<size_t>(k));
    if (whole) {
      ids.resize(static_cast<size_t>(k));
      for (int64_t i = 0; i < k; ++i) ids[i] = static_cast<int32_t>(i);
      whole = false;
    }
    ids.resize(static_cast<size_t>(k));
    return;
  }
  std::vector<Entry> best;
  if (k > n / 8) {  // much is wanted: all entries, the k best in front
    best.resize(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) best[i] = {logits[i], id(i)};
    if (k < n) std::nth_element(best.begin(), best.begin() + k, best.end(), is_better);
    best.resize(static_cast<size_t>(k));
  } else if (k > 0) {
    best.reserve(static_cast<size_t>(k));
    for (int64_t i = 0; i < k; ++i) best.push_back({logits[i], id(i)});
    std::make_heap(best.begin(), best.end(), is_better);
    float worst = best.front().logit;
    for (int64_t i = k; i < n; ++i) {
      if (logits[i] < worst) continue;
      const Entry entry{logits[i], id(i)};
      if (!is_better(entry, best.front())) continue;
      std::pop_heap(best.begin(), best.end(), is_better);
      best.back() = entry;
      std::push_heap(best.begin(), best.end(), is_better);
      worst = best.front().logit;
    }
  }
  std::sort(best.begin(), best.end(), is_better);
  logits.resize(best.size());
  ids.resize(best.size());
  for (size_t i = 0; i < best.size(); ++i) {
    logits[i] = best[i].logit;
    ids[i] = best[i].id;
  }
  whole = false;
  sorted = true;
}

int64_t Candidates::argmax() const {
  if (logits.empty()) return -1;
  if (sorted) return 0;
  int64_t best = 0;
  for (int64_t i = 1; i < size(); ++i) {
    if (logits[i] > logits[best] || (logits[i] == logits[best] && id(i) < id(best))) best = i;
  }
  return best;
}

float Candidates::max_logit() const {
  const int64_t best = argmax();
  return best < 0 ? -std::numeric_limits<float>::infinity() : logits[best];
}

double Candidates::exponentials(std::vector<double>& weights) const {
  const float max = max_logit();
  weights.assign(logits.size(), 0);
  if (max == -std::numeric_limits<float>::infinity()) return 0;
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    // A tiny temperature may have made some logits infinite: those share everything.
    weights[i] =
        logits[i] == max ? 1 : exact_exp(static_cast<double>(logits[i]) - static_cast<double>(max));
    sum += weights[i];
  }
  return sum;
}

}  // namespace etch
