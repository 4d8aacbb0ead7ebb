// top_k: the k largest logits.
#include <fmt/core.h>

#include "text/samplers/step.h"

namespace etch {

namespace {

class TopK : public SamplerStep {
 public:
  explicit TopK(int64_t k) : k_(k) {}
  void apply(Candidates& c) override { c.keep_best(k_); }
  std::string print() const override { return fmt::format("top_k {}", k_); }
  std::unique_ptr<SamplerStep> clone() const override { return std::make_unique<TopK>(*this); }

 private:
  int64_t k_;
};

}  // namespace

std::unique_ptr<SamplerStep> make_top_k(const SamplingOptions& o, const Tokenizer*) {
  return o.top_k <= 0 ? nullptr : std::make_unique<TopK>(o.top_k);
}

}  // namespace etch
