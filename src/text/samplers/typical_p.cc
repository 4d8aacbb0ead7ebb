// typical_p: the candidates whose surprise is nearest to the expected one (Meister et al., 2022).
//   H = -sum p ln p;  by |-ln p - H| ascending, the shortest front whose probabilities sum to more
//   than typical_p
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "text/real_math.h"
#include "text/samplers/step.h"

namespace etch {

namespace {

class TypicalP : public SamplerStep {
 public:
  TypicalP(float p, int64_t min_keep) : p_(p), min_keep_(min_keep) {}

  void apply(Candidates& c) override {
    std::vector<double> weights;
    const double sum = c.exponentials(weights);
    if (sum == 0) return;
    struct Entry {
      double distance, p;
      int64_t place;
    };
    std::vector<Entry> entries;
    double entropy = 0;
    for (int64_t i = 0; i < c.size(); ++i) {
      const double p = weights[i] / sum;
      if (p <= 0) continue;  // has no surprise to speak of
      const double surprise = -exact_log(p);
      entropy += p * surprise;
      entries.push_back({surprise, p, i});
    }
    for (Entry& e : entries) e.distance = std::fabs(e.distance - entropy);
    std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
      return a.distance != b.distance ? a.distance < b.distance : c.id(a.place) < c.id(b.place);
    });
    std::vector<int64_t> kept;
    double reached = 0;
    for (const Entry& e : entries) {
      kept.push_back(e.place);
      reached += e.p;
      if (reached > p_ && static_cast<int64_t>(kept.size()) >= min_keep_) break;
    }
    std::sort(kept.begin(), kept.end());  // the order they had
    c.keep(kept);
  }
  std::string print() const override { return fmt::format("typical_p {}", p_); }
  std::unique_ptr<SamplerStep> clone() const override { return std::make_unique<TypicalP>(*this); }

 private:
  float p_;
  int64_t min_keep_;
};

}  // namespace

std::unique_ptr<SamplerStep> make_typical_p(const SamplingOptions& o, const Tokenizer*) {
  return o.typical_p >= 1 ? nullptr : std::make_unique<TypicalP>(o.typical_p, o.min_keep);
}

}  // namespace etch
