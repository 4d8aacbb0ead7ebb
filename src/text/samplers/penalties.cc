// penalties: tokens of the last n get less likely.
//   l > 0: l / repeat,  l <= 0: l * repeat;  then l - count * frequency - presence
#include <deque>
#include <unordered_map>

#include <fmt/core.h>

#include "text/samplers/step.h"

namespace etch {

namespace {

class Penalties : public SamplerStep {
 public:
  explicit Penalties(const SamplingOptions& o)
      : last_n_(o.penalty_last_n),
        repeat_(o.repeat_penalty),
        frequency_(o.frequency_penalty),
        presence_(o.presence_penalty) {}

  void apply(Candidates& c) override {
    if (c.whole) {
      for (const auto& [id, count] : counts_) {
        if (id >= 0 && id < c.size()) c.logits[id] = penalised(c.logits[id], count);
      }
    } else {
      for (int64_t i = 0; i < c.size(); ++i) {
        const auto found = counts_.find(c.id(i));
        if (found != counts_.end()) c.logits[i] = penalised(c.logits[i], found->second);
      }
    }
    if (!counts_.empty()) c.sorted = false;
  }
  void accept(int32_t id) override {
    window_.push_back(id);
    ++counts_[id];
    if (static_cast<int64_t>(window_.size()) <= last_n_) return;
    const auto oldest = counts_.find(window_.front());
    if (--oldest->second == 0) counts_.erase(oldest);
    window_.pop_front();
  }
  void reset() override {
    window_.clear();
    counts_.clear();
  }
  std::string print() const override {
    return fmt::format("penalties repeat {} frequency {} presence {} over {} tokens", repeat_,
                       frequency_, presence_, last_n_);
  }
  std::unique_ptr<SamplerStep> clone() const override { return std::make_unique<Penalties>(*this); }

 private:
  float penalised(float logit, int64_t count) const {
    logit = logit <= 0 ? logit * repeat_ : logit / repeat_;
    return logit - static_cast<float>(count) * frequency_ - presence_;
  }

  int64_t last_n_;
  float repeat_, frequency_, presence_;
  std::deque<int32_t> window_;
  std::unordered_map<int32_t, int64_t> counts_;  // of the tokens in the window
};

}  // namespace

std::unique_ptr<SamplerStep> make_penalties(const SamplingOptions& o, const Tokenizer*) {
  const bool off = o.penalty_last_n <= 0 ||
                   (o.repeat_penalty == 1 && o.frequency_penalty == 0 && o.presence_penalty == 0);
  return off ? nullptr : std::make_unique<Penalties>(o);
}

}  // namespace etch
