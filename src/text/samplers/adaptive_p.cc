// adaptive_p: steers the running average of the drawn tokens' probabilities towards a target t.
// With S and W the sums of p and of 1 over the past, fading by d each step,
//   goal = clamp(2 t - S / W, 0, 1),  x = |p - goal| / 0.3,  logit = 5 - 10 x^2 / (1 + x)
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "text/samplers/step.h"

namespace etch {
namespace {

class AdaptiveP : public SamplerStep {
 public:
  explicit AdaptiveP(const SamplingOptions& o)
      : target_(static_cast<double>(o.adaptive_target)),
        decay_(std::clamp(static_cast<double>(o.adaptive_decay), 0.0, 0.99)) {
    reset();
  }

  void apply(Candidates& c) override {
    const double sum = c.exponentials(weights_);
    if (!(sum > 0)) return;
    const double goal = std::clamp(2 * target_ - sum_ / weight_, 0.0, 1.0);
    for (int64_t i = 0; i < c.size(); ++i) {
      weights_[i] /= sum;
      if (c.logits[i] == -std::numeric_limits<float>::infinity()) continue;
      const double x = std::fabs(weights_[i] - goal) / 0.3;
      c.logits[i] = static_cast<float>(5 - 10 * x * x / (1 + x));
    }
    c.sorted = false;
  }
  void drawn(const Candidates& c, int64_t place, double) override {
    pending_id_ = c.id(place);
    pending_p_ = weights_[place];
  }
  void accept(int32_t id) override {
    if (id == pending_id_) {
      sum_ = pending_p_ + decay_ * sum_;
      weight_ = 1 + decay_ * weight_;
    }
    pending_id_ = -1;
  }
  void reset() override {
    sum_ = target_ / (1 - decay_);
    weight_ = 1 / (1 - decay_);
    pending_id_ = -1;
  }
  std::string print() const override { return fmt::format("adaptive_p {}", target_); }
  std::unique_ptr<SamplerStep> clone() const override { return std::make_unique<AdaptiveP>(*this); }

 private:
  double target_, decay_, sum_ = 0, weight_ = 0;
  std::vector<double> weights_;  // probabilities before
  int32_t pending_id_ = -1;
  double pending_p_ = 0;
};

}  // namespace

std::unique_ptr<SamplerStep> make_adaptive_p(const SamplingOptions& o, const Tokenizer*) {
  return o.adaptive_target < 0 ? nullptr : std::make_unique<AdaptiveP>(o);
}

}  // namespace etch
