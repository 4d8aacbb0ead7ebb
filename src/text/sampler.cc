#include "text/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "text/random.h"
#include "text/real_math.h"
#include "text/samplers/step.h"

namespace etch {

struct Sampler::State {
  std::vector<std::pair<int32_t, float>> logit_bias;
  std::vector<std::unique_ptr<SamplerStep>> steps;
  bool greedy = false;  // the largest logit, and no step could make another one the largest
  uint64_t seed = 0;
  CountedRandom random;
  Candidates candidates;  // kept for their memory
  std::vector<double> weights;
};

namespace {

// First candidate at which the running sum of weights passes u times their sum; one of weight 0
// never is.
int64_t draw(const std::vector<double>& weights, double sum, double u) {
  const double target = u * sum;
  double running = 0;
  int64_t last = -1;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    running += weights[i];
    last = static_cast<int64_t>(i);
    if (running > target) break;
  }
  return last;
}

Status check_range(const char* what, float value, float low, float high) {
  if (value >= low && value <= high) return {};  // false for NaN
  return fail(ErrorKind::usage, "{} is {}, expected {} to {}", what, value, low, high);
}

Status check_options(const SamplingOptions& o) {
  ETCH_TRY(check_range("temperature", o.temperature, -1e6f, 1e6f));
  ETCH_TRY(check_range("dynamic_range", o.dynamic_range, -1e6f, 1e6f));
  ETCH_TRY(check_range("dynamic_exponent", o.dynamic_exponent, 0, 1e6f));
  ETCH_TRY(check_range("top_p", o.top_p, 0, 1e6f));
  ETCH_TRY(check_range("min_p", o.min_p, -1e6f, 1));
  ETCH_TRY(check_range("typical_p", o.typical_p, 0, 1e6f));
  ETCH_TRY(check_range("top_n_sigma", o.top_n_sigma, -1e6f, 1e6f));
  ETCH_TRY(check_range("xtc_probability", o.xtc_probability, 0, 1));
  ETCH_TRY(check_range("xtc_threshold", o.xtc_threshold, 0, 1));
  ETCH_TRY(check_range("repeat_penalty", o.repeat_penalty, 1e-6f, 1e6f));
  ETCH_TRY(check_range("frequency_penalty", o.frequency_penalty, -1e6f, 1e6f));
  ETCH_TRY(check_range("presence_penalty", o.presence_penalty, -1e6f, 1e6f));
  for (const auto& [id, bias] : o.logit_bias) {
    if (bias == bias && bias < std::numeric_limits<float>::infinity()) continue;
    return fail(ErrorKind::usage, "the bias of token {} is {}, expected a number or -inf", id,
                bias);
  }
  return {};
}

}  // namespace

Sampler::Sampler(std::unique_ptr<State> state) : state_(std::move(state)) {}
Sampler::Sampler(Sampler&&) noexcept = default;
Sampler& Sampler::operator=(Sampler&&) noexcept = default;
Sampler::~Sampler() = default;

Sampler::Sampler(const Sampler& other) : state_(std::make_unique<State>()) {
  const State& s = *other.state_;
  state_->logit_bias = s.logit_bias;
  for (const auto& step : s.steps) state_->steps.push_back(step->clone());
  state_->greedy = s.greedy;
  state_->seed = s.seed;
  state_->random = s.random;
}

Result<Sampler> make_sampler(const SamplingOptions& options) {
  ETCH_TRY(check_options(options));
  auto state = std::make_unique<Sampler::State>();
  state->logit_bias = options.logit_bias;
  state->seed = options.seed;
  state->random = CountedRandom(options.seed);
  bool only_truncates = true, has_temperature = false;
  for (const std::string& wanted : options.steps) {
    const SamplerKind* kind = find_sampler_kind(wanted);
    if (!kind) {
      return fail(ErrorKind::usage, "no sampler step '{}'; there are {}", wanted,
                  known_sampler_kinds());
    }
    has_temperature |= kind->name == "temperature";
    auto step = kind->make(options);
    if (!step) continue;
    only_truncates &= kind->only_truncates;
    state->steps.push_back(std::move(step));
  }
  state->greedy =
      has_temperature && options.temperature <= 0 && options.dynamic_range <= 0 && only_truncates;
  return Sampler(std::move(state));
}

Result<int32_t> Sampler::sample(std::span<const float> logits) {
  State& s = *state_;
  constexpr float kMax = std::numeric_limits<float>::max();
  int64_t best = -1, bad = -1;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] <= kMax)) bad = static_cast<int64_t>(i);  // NaN or +inf
    if (best < 0 || logits[i] > logits[best]) best = static_cast<int64_t>(i);
  }
  if (bad >= 0) {
    return fail(ErrorKind::damaged, "the logit of token {} is {}: the model computed nonsense", bad,
                logits[bad]);
  }
  if (best < 0 || logits[best] < -kMax) {
    return fail(ErrorKind::damaged, "no token is possible: all {} logits are -inf", logits.size());
  }
  if (s.greedy && s.logit_bias.empty()) return static_cast<int32_t>(best);

  Candidates& c = s.candidates;
  c.logits.assign(logits.begin(), logits.end());
  c.ids.clear();
  c.whole = true;
  c.sorted = false;
  for (const auto& [id, bias] : s.logit_bias) {
    if (id >= 0 && id < c.size()) c.logits[id] += bias;
  }
  for (const auto& step : s.steps) step->apply(c);
  const double sum = c.exponentials(s.weights);
  if (!(sum > 0))
    return fail(ErrorKind::damaged, "no token is possible: the sampler's steps left none ({})",
                print());
  const int64_t chosen = draw(s.weights, sum, s.random.next_unit());
  return c.id(chosen);
}

void Sampler::accept(int32_t id) {
  for (const auto& step : state_->steps) step->accept(id);
}

void Sampler::reset() {
  for (const auto& step : state_->steps) step->reset();
  state_->random.set_count(0);
}

std::string Sampler::print() const {
  std::string text;
  if (!state_->logit_bias.empty())
    text += fmt::format("bias on {} tokens -> ", state_->logit_bias.size());
  for (const auto& step : state_->steps) text += step->print() + " -> ";
  return text + (state_->greedy ? "largest" : fmt::format("draw, seed {}", state_->seed));
}

std::vector<TokenLogprob> top_logprobs(std::span<const float> logits, int64_t k) {
  Candidates c;
  c.logits.assign(logits.begin(), logits.end());
  std::vector<double> weights;
  const double sum = c.exponentials(weights);
  const double max = static_cast<double>(c.max_logit());
  c.keep_best(k);
  std::vector<TokenLogprob> top;
  for (int64_t i = 0; i < c.size(); ++i) {
    top.push_back({c.id(i), static_cast<double>(c.logits[i]) - max - exact_log(sum)});
  }
  return top;
}

}  // namespace etch
