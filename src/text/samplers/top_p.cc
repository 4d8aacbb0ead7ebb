// top_p: the shortest front of the sorted candidates whose probabilities sum to p or more.
#include <algorithm>

#include <fmt/core.h>

#include "text/real_math.h"
#include "text/samplers/step.h"

namespace etch {

namespace {

// Sorting a whole vocabulary is slow and the front is short: begin with this many and widen where
// they do not do.
constexpr int64_t kFirst = 256;

class TopP : public SamplerStep {
 public:
  TopP(float p, int64_t min_keep) : p_(p), min_keep_(std::max<int64_t>(min_keep, 1)) {}

  void apply(Candidates& c) override {
    const double sum = c.exponentials(weights_);
    if (sum == 0) return;
    const double max = static_cast<double>(c.max_logit());
    for (int64_t wanted = std::max(kFirst, min_keep_);; wanted *= 8) {
      const bool all = wanted >= c.size();
      Candidates front = c;
      front.keep_best(wanted);
      double reached = 0;
      for (int64_t i = 0; i < front.size(); ++i) {
        reached += exact_exp(static_cast<double>(front.logits[i]) - max) / sum;
        if (reached < p_ || i + 1 < min_keep_) continue;
        front.keep_best(i + 1);
        c = std::move(front);
        return;
      }
      if (!all) continue;
      c = std::move(front);  // rounding left the sum just below p
      return;
    }
  }
  std::string print() const override { return fmt::format("top_p {}", p_); }
  std::unique_ptr<SamplerStep> clone() const override { return std::make_unique<TopP>(*this); }

 private:
  float p_;
  int64_t min_keep_;
  std::vector<double> weights_;
};

}  // namespace

std::unique_ptr<SamplerStep> make_top_p(const SamplingOptions& o, const Tokenizer*) {
  return o.top_p >= 1 ? nullptr : std::make_unique<TopP>(o.top_p, o.min_keep);
}

}  // namespace etch
