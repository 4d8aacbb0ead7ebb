// min_p: the candidates at least min_p times as likely as the best: logit >= max + ln(min_p).
#include <fmt/core.h>

#include "text/real_math.h"
#include "text/samplers/step.h"

namespace etch {

namespace {

class MinP : public SamplerStep {
 public:
  MinP(float p, int64_t min_keep) : p_(p), min_keep_(min_keep) {}

  void apply(Candidates& c) override {
    const float least = c.max_logit() + static_cast<float>(exact_log(static_cast<double>(p_)));
    std::vector<int64_t> kept;
    for (int64_t i = 0; i < c.size(); ++i) {
      if (c.logits[i] >= least) kept.push_back(i);
    }
    if (static_cast<int64_t>(kept.size()) < min_keep_) {
      c.keep_best(min_keep_);
    } else if (!kept.empty() && static_cast<int64_t>(kept.size()) < c.size()) {
      c.keep(kept);
    }
  }
  std::string print() const override { return fmt::format("min_p {}", p_); }
  std::unique_ptr<SamplerStep> clone() const override { return std::make_unique<MinP>(*this); }

 private:
  float p_;
  int64_t min_keep_;
};

}  // namespace

std::unique_ptr<SamplerStep> make_min_p(const SamplingOptions& o, const Tokenizer*) {
  return o.min_p <= 0 ? nullptr : std::make_unique<MinP>(o.min_p, o.min_keep);
}

}  // namespace etch
