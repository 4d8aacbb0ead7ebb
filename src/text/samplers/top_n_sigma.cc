// top_n_sigma: logits more than n standard deviations below the largest become -inf (Tang et al.,
// 2024). The same at any temperature, if it stands before that.
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "text/samplers/step.h"

namespace etch {

namespace {

class TopNSigma : public SamplerStep {
 public:
  explicit TopNSigma(float n) : n_(n) {}

  void apply(Candidates& c) override {
    constexpr float kNone = -std::numeric_limits<float>::infinity();
    double sum = 0, squares = 0;
    int64_t count = 0;
    for (const float l : c.logits) {
      if (l == kNone) continue;
      sum += static_cast<double>(l);
      ++count;
    }
    if (count == 0) return;
    const double mean = sum / static_cast<double>(count);
    for (const float l : c.logits) {
      if (l == kNone) continue;
      const double d = static_cast<double>(l) - mean;
      squares += d * d;
    }
    const double sigma =
        std::sqrt(squares / static_cast<double>(count));  // IEEE: exact rounding everywhere
    const double least = static_cast<double>(c.max_logit()) - static_cast<double>(n_) * sigma;
    for (float& l : c.logits) {
      if (static_cast<double>(l) < least) l = kNone;
    }
    c.sorted = false;
  }
  std::string print() const override { return fmt::format("top_n_sigma {}", n_); }
  std::unique_ptr<SamplerStep> clone() const override { return std::make_unique<TopNSigma>(*this); }

 private:
  float n_;
};

}  // namespace

std::unique_ptr<SamplerStep> make_top_n_sigma(const SamplingOptions& o, const Tokenizer*) {
  return o.top_n_sigma <= 0 ? nullptr : std::make_unique<TopNSigma>(o.top_n_sigma);
}

}  // namespace etch
