// mirostat (Basu et al., 2021): keeps the surprise -log2 p of the drawn tokens near tau, by a bound
// mu that moves with each draw:  mu -= eta (-log2 p - tau), from mu = 2 tau.
//   version 1: estimates the exponent s of the tail from the likeliest 100, and keeps the k best
//   with
//              k = ((s - 1) 2^mu / (1 - V^(1 - s)))^(1/s)
//   version 2: keeps those with -log2 p <= mu
#include <fmt/core.h>

#include <algorithm>

#include "text/real_math.h"
#include "text/samplers/step.h"
#include "text/tokenizer.h"

namespace etch {
namespace {

constexpr int64_t kEstimated = 100;
constexpr double kLn2 = 0.693147180559945309417;

double log2_of(double x) { return exact_log(x) / kLn2; }

class Mirostat : public SamplerStep {
 public:
  Mirostat(const SamplingOptions& o, int64_t n_vocab)
      : version_(o.mirostat),
        tau_(static_cast<double>(o.mirostat_tau)),
        eta_(static_cast<double>(o.mirostat_eta)),
        mu_(2 * tau_),
        n_vocab_(n_vocab) {}

  void apply(Candidates& c) override {
    n_vocab_ = std::max(n_vocab_, c.size());
    c.sort();
    std::vector<double> weights;
    const double sum = c.exponentials(weights);
    if (!(sum > 0)) return;
    int64_t k = 1;
    if (version_ == 1) {
      k = best_of_tail(weights);
    } else {
      while (k < c.size() && weights[k] > 0 && -log2_of(weights[k] / sum) <= mu_) ++k;
    }
    c.keep_best(k);
  }
  void drawn(const Candidates& c, int64_t place, double p) override {
    pending_id_ = c.id(place);
    pending_p_ = p;
  }
  void accept(int32_t id) override {
    if (id == pending_id_ && pending_p_ > 0) mu_ -= eta_ * (-log2_of(pending_p_) - tau_);
    pending_id_ = -1;
  }
  void reset() override {
    mu_ = 2 * tau_;
    pending_id_ = -1;
  }
  std::string print() const override {
    return fmt::format("mirostat {} tau {} eta {}", version_, tau_, eta_);
  }
  std::unique_ptr<SamplerStep> clone() const override { return std::make_unique<Mirostat>(*this); }

 private:
  int64_t best_of_tail(const std::vector<double>& weights) const {
    double products = 0, squares = 0;
    const auto n = static_cast<int64_t>(weights.size());
    for (int64_t i = 0; i < kEstimated - 1 && i < n - 1 && weights[i + 1] > 0; ++i) {
      const double t = exact_log(static_cast<double>(i + 2) / static_cast<double>(i + 1));
      products += t * exact_log(weights[i] / weights[i + 1]);
      squares += t * t;
    }
    const double s = squares > 0 ? products / squares : 0, epsilon = s - 1;
    const double below = 1 - exact_pow(static_cast<double>(n_vocab_), -epsilon);
    const double k = exact_pow(epsilon * exact_pow(2, mu_) / below, 1 / s);
    return k >= 1 ? static_cast<int64_t>(std::min(k, static_cast<double>(n))) : 1;  // NaN: 1
  }

  int64_t version_;
  double tau_, eta_, mu_;
  int64_t n_vocab_;  // 0: as many as there are candidates
  int32_t pending_id_ = -1;
  double pending_p_ = 0;
};

}  // namespace

std::unique_ptr<SamplerStep> make_mirostat(const SamplingOptions& o, const Tokenizer* tokenizer) {
  if (o.mirostat == 0) return nullptr;
  return std::make_unique<Mirostat>(o, tokenizer ? tokenizer->n_vocab() : 0);
}

}  // namespace etch
