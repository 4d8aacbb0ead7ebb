// dry, "don't repeat yourself": a token that would carry on a repetition of n >= allowed tokens
// gets its logit lowered by multiplier * base^(n - allowed).
//
//   history   a b c x a b c        the end "a b c" stood before x: x has n = 3
//
// Breakers (a newline, a quote) end a repetition: what stands before the last one does not count.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "text/real_math.h"
#include "text/samplers/step.h"
#include "text/tokenizer.h"

namespace etch {
namespace {

constexpr size_t kMaxBreakerBytes = 40, kMaxTail = 20;
constexpr double kMaxPower = 88.7228391;  // e^that still is a float

// Tokens with which a breaker may begin, and the tokens of what is left of it then: none where the
// token holds all of it. The same for all copies of a sampler.
using Breakers = std::unordered_map<int32_t, std::vector<std::vector<int32_t>>>;

std::shared_ptr<const Breakers> find_breakers(const std::vector<std::string>& texts,
                                              const Tokenizer& tokenizer) {
  Breakers found;
  for (std::string text : texts) {
    if (text.empty()) continue;
    text.resize(std::min(text.size(), kMaxBreakerBytes));
    std::vector<std::vector<int32_t>> tails(text.size());  // behind its first i bytes
    for (size_t i = 1; i < text.size(); ++i) {
      auto ids = tokenizer.encode(text.substr(i), {.add_special = false, .parse_special = false});
      if (ids) tails[i] = std::move(*ids);
      if (tails[i].size() > kMaxTail) tails[i].resize(kMaxTail);
    }
    for (int32_t id = 0; id < tokenizer.n_vocab(); ++id) {
      const std::string own = tokenizer.token_bytes(id, true);
      if (own.find(text) != own.npos) {
        found[id].emplace_back();
        continue;
      }
      for (size_t i = 1; i < text.size(); ++i) {
        if (own.ends_with(std::string_view(text).substr(0, i))) found[id].push_back(tails[i]);
      }
    }
  }
  return std::make_shared<const Breakers>(std::move(found));
}

class Dry : public SamplerStep {
 public:
  Dry(const SamplingOptions& o, const Tokenizer& tokenizer)
      : multiplier_(static_cast<double>(o.dry_multiplier)),
        base_(static_cast<double>(o.dry_base)),
        allowed_(o.dry_allowed_length),
        last_n_(o.dry_last_n),
        breakers_(find_breakers(o.dry_breakers, tokenizer)) {}

  void apply(Candidates& c) override {
    const std::unordered_map<int32_t, int64_t> longest = find_repetitions();
    if (longest.empty()) return;
    const double most = base_ > 1.000001 ? kMaxPower / exact_log(base_) : 1e300;
    for (int64_t i = 0; i < c.size(); ++i) {
      const auto found = longest.find(c.id(i));
      if (found == longest.end()) continue;
      const double power = std::min(static_cast<double>(found->second - allowed_), most);
      c.logits[i] -= static_cast<float>(multiplier_ * exact_pow(base_, power));
    }
    c.sorted = false;
  }
  void accept(int32_t id) override {
    history_.push_back(id);
    if (std::ssize(history_) > 2 * last_n_ + 64)
      history_.erase(history_.begin(), history_.end() - last_n_);
  }
  void reset() override { history_.clear(); }
  std::string print() const override {
    return fmt::format("dry {} base {} allowed {} over {} tokens", multiplier_, base_, allowed_,
                       last_n_);
  }
  std::unique_ptr<SamplerStep> clone() const override { return std::make_unique<Dry>(*this); }

 private:
  // How far back a repetition may reach.
  int64_t find_limit(const std::vector<int32_t>& newest_first) const {
    const auto n = static_cast<int64_t>(newest_first.size());
    for (int64_t i = 0; i < n; ++i) {
      const auto head = breakers_->find(newest_first[i]);
      if (head == breakers_->end()) continue;
      int64_t longest = -1;
      for (const auto& tail : head->second) {
        const auto length = static_cast<int64_t>(tail.size());
        if (length <= longest || length > i) continue;
        bool matches = true;
        for (int64_t k = 0; k < length && matches; ++k)
          matches = tail[k] == newest_first[i - 1 - k];
        if (matches) longest = length;
      }
      if (longest >= 0) return i - longest;
    }
    return n;
  }

  // The longest repetition that each token would carry on.
  std::unordered_map<int32_t, int64_t> find_repetitions() const {
    std::unordered_map<int32_t, int64_t> longest;
    const auto n = std::min<int64_t>(std::ssize(history_), last_n_);
    if (n <= allowed_) return longest;
    const std::vector<int32_t> text(history_.rbegin(), history_.rbegin() + n);
    const int64_t limit = find_limit(text);
    if (limit < allowed_) return longest;
    // Z-algorithm: z[i] = how much of text from i on equals its beginning.
    std::vector<int64_t> z(static_cast<size_t>(n), 0);
    for (int64_t i = 1, left = 0, right = 0; i < n; ++i) {
      if (i < right) z[i] = std::min(right - i, z[i - left]);
      while (i + z[i] < n && text[z[i]] == text[i + z[i]]) ++z[i];
      if (i + z[i] > right) left = i, right = i + z[i];
      const int64_t length = std::min(z[i], limit);
      if (length < allowed_) continue;
      const int32_t follower = text[i - 1];
      const auto breaker = breakers_->find(follower);
      const bool breaks =
          breaker != breakers_->end() && std::any_of(breaker->second.begin(), breaker->second.end(),
                                                     [](const auto& tail) { return tail.empty(); });
      if (!breaks) longest[follower] = std::max(longest[follower], length);
    }
    return longest;
  }

  double multiplier_, base_;
  int64_t allowed_, last_n_;
  std::vector<int32_t> history_;
  std::shared_ptr<const Breakers> breakers_;
};

}  // namespace

std::unique_ptr<SamplerStep> make_dry(const SamplingOptions& o, const Tokenizer* tokenizer) {
  const bool off = o.dry_multiplier == 0 || o.dry_base < 1 || o.dry_last_n <= 0;
  return off ? nullptr : std::make_unique<Dry>(o, *tokenizer);
}

}  // namespace etch
