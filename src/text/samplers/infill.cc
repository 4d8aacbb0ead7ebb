// infill, for completion of code between two ends: stops early where an end is likely, and takes
// tokens of which one begins with the other for one.
#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "text/samplers/step.h"
#include "text/tokenizer.h"

namespace etch {
namespace {

constexpr int64_t kMaxCompared = 4096;  // every pair of them is looked at
constexpr double kSure = 0.2;

class Infill : public SamplerStep {
 public:
  explicit Infill(const Tokenizer* tokenizer) : tokenizer_(tokenizer) {}

  void apply(Candidates& c) override {
    c.sort();
    double sum = c.exponentials(p_);
    if (!(sum > 0)) return;
    double ends = 0, texts = 0;
    for (int64_t i = 0; i < c.size(); ++i) {
      p_[i] /= sum;
      (is_end(c, i) ? ends : texts) += p_[i];
    }
    if (3 * ends * static_cast<double>(c.size()) > texts) {
      keep(c, [&](int64_t i) { return is_end(c, i); });
      return;
    }
    join_prefixes(c);
    keep(c, [&](int64_t i) { return is_end(c, i) || p_[i] >= kSure; });
    const int64_t n = count_texts(c);
    if (n == 0) {
      const SpecialIds& special = tokenizer_->special();
      c.logits = {1};
      c.ids = {special.eot >= 0 ? special.eot : special.eos};
      c.whole = false;
      c.sorted = true;
      return;
    }
    renormalise();
    const double least = 1.0 / static_cast<double>(n + 1);
    keep(c, [&](int64_t i) { return is_end(c, i) || p_[i] >= least; });
  }
  std::string print() const override { return "infill"; }
  std::unique_ptr<SamplerStep> clone() const override { return std::make_unique<Infill>(*this); }

 private:
  bool is_end(const Candidates& c, int64_t i) const {
    return tokenizer_->is_end_of_generation(c.id(i));
  }
  int64_t count_texts(const Candidates& c) const {
    int64_t n = 0;
    for (int64_t i = 0; i < c.size(); ++i) n += !is_end(c, i);
    return n;
  }
  // The likelier of the two takes the other's share.
  void join_prefixes(Candidates& c) {
    const int64_t n = std::min(c.size(), kMaxCompared);
    std::vector<std::string> texts;
    for (int64_t i = 0; i < n; ++i) texts.push_back(tokenizer_->token_bytes(c.id(i)));
    constexpr float kGone = -std::numeric_limits<float>::infinity();
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        if (c.logits[i] == kGone) break;
        if (i == j || c.logits[j] == kGone || texts[i].empty() || !texts[j].starts_with(texts[i]))
          continue;
        const bool first = p_[i] >= p_[j];
        const int64_t to = first ? i : j, from = first ? j : i;
        p_[to] += p_[from];
        p_[from] = 0;
        c.logits[from] = kGone;
      }
    }
  }
  template <class Stays>
  void keep(Candidates& c, const Stays& stays) {
    std::vector<int64_t> places;
    std::vector<double> kept;
    for (int64_t i = 0; i < c.size(); ++i) {
      if (!stays(i)) continue;
      places.push_back(i);
      kept.push_back(p_[i]);
    }
    c.keep(places);
    p_ = std::move(kept);
  }
  void renormalise() {
    double sum = 0;
    for (const double p : p_) sum += p;
    for (double& p : p_) p /= sum;
  }

  const Tokenizer* tokenizer_;
  std::vector<double> p_;
};

}  // namespace

std::unique_ptr<SamplerStep> make_infill(const SamplingOptions&, const Tokenizer* tokenizer) {
  return std::make_unique<Infill>(tokenizer);
}

}  // namespace etch
