// temperature: logit / t. With a range r, t follows the entropy H of the candidates:
//   t = lo + (hi - lo) (H / ln n)^exponent,  lo = max(0, t - r),  hi = t + r
// t <= 0 leaves the best one alone: greedy.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "text/real_math.h"
#include "text/samplers/step.h"

namespace etch {

namespace {

class Temperature : public SamplerStep {
 public:
  explicit Temperature(const SamplingOptions& o)
      : temperature_(o.temperature), range_(o.dynamic_range), exponent_(o.dynamic_exponent) {}

  void apply(Candidates& c) override {
    const float t = range_ > 0 && c.size() > 1 ? by_entropy(c) : temperature_;
    if (t > 0) {
      // Softmax does not care about a common offset: where the largest would overflow, it becomes
      // 0.
      const float max = c.max_logit();
      if (max == -std::numeric_limits<float>::infinity()) return;
      const float offset = std::fabs(max / t) <= std::numeric_limits<float>::max() ? 0 : max;
      for (float& l : c.logits) l = (l - offset) / t;
      return;
    }
    const int64_t best = c.argmax();
    for (int64_t i = 0; i < c.size(); ++i) {
      if (i != best) c.logits[i] = -std::numeric_limits<float>::infinity();
    }
  }
  std::string print() const override {
    if (range_ > 0) return fmt::format("temperature {} +- {}", temperature_, range_);
    return temperature_ > 0 ? fmt::format("temperature {}", temperature_) : "greedy";
  }
  std::unique_ptr<SamplerStep> clone() const override {
    return std::make_unique<Temperature>(*this);
  }

 private:
  float by_entropy(const Candidates& c) const {
    std::vector<double> weights;
    const double sum = c.exponentials(weights);
    double entropy = 0;
    for (const double w : weights) {
      if (w > 0) entropy -= w / sum * exact_log(w / sum);
    }
    const double low = std::max(0.0f, temperature_ - range_), high = temperature_ + range_;
    const double part = std::max(0.0, entropy / exact_log(static_cast<double>(c.size())));
    return static_cast<float>(low + (high - low) * exact_pow(part, static_cast<double>(exponent_)));
  }

  float temperature_, range_, exponent_;
};

}  // namespace

std::unique_ptr<SamplerStep> make_temperature(const SamplingOptions& o, const Tokenizer*) {
  return o.temperature == 1 && o.dynamic_range <= 0 ? nullptr : std::make_unique<Temperature>(o);
}

}  // namespace etch
