// xtc, "exclude top choices": now and then, of the candidates above a threshold only the least
// likely stays.
#include <fmt/core.h>

#include "text/random.h"
#include "text/samplers/step.h"

namespace etch {

namespace {

constexpr uint64_t kStream = 1;  // its draws are apart from those of the tokens

class Xtc : public SamplerStep {
 public:
  explicit Xtc(const SamplingOptions& o)
      : probability_(o.xtc_probability),
        threshold_(o.xtc_threshold),
        min_keep_(o.min_keep),
        random_(o.seed, kStream) {}

  void apply(Candidates& c) override {
    if (random_.next_unit() >= static_cast<double>(probability_) || c.size() < 2) return;
    c.sort();
    std::vector<double> weights;
    const double sum = c.exponentials(weights);
    int64_t last = -1;
    for (int64_t i = 0; i < c.size() && weights[i] >= static_cast<double>(threshold_) * sum; ++i)
      last = i;
    if (last <= 0 || c.size() - last < min_keep_) return;
    std::vector<int64_t> kept;
    for (int64_t i = last; i < c.size(); ++i) kept.push_back(i);
    c.keep(kept);
  }
  void reset() override { random_.set_count(0); }
  std::string print() const override {
    return fmt::format("xtc {} above {}", probability_, threshold_);
  }
  std::unique_ptr<SamplerStep> clone() const override { return std::make_unique<Xtc>(*this); }

 private:
  float probability_, threshold_;
  int64_t min_keep_;
  CountedRandom random_;
};

}  // namespace

std::unique_ptr<SamplerStep> make_xtc(const SamplingOptions& o, const Tokenizer*) {
  return o.xtc_probability <= 0 || o.xtc_threshold > 0.5f ? nullptr : std::make_unique<Xtc>(o);
}

}  // namespace etch
