#include "text/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

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
  ETCH_TRY(check_range("dry_multiplier", o.dry_multiplier, -1e6f, 1e6f));
  ETCH_TRY(check_range("dry_base", o.dry_base, 0, 1e6f));
  ETCH_TRY(check_range("mirostat_tau", o.mirostat_tau, 0, 1e3f));
  ETCH_TRY(check_range("mirostat_eta", o.mirostat_eta, 0, 1e3f));
  ETCH_TRY(check_range("adaptive_target", o.adaptive_target, -1e6f, 1));
  ETCH_TRY(check_range("adaptive_decay", o.adaptive_decay, 0, 0.99f));
  if (o.mirostat < 0 || o.mirostat > 2)
    return fail(ErrorKind::usage, "mirostat is {}, expected 0, 1 or 2", o.mirostat);
  if (o.dry_allowed_length < 0 || o.dry_last_n > (1 << 20) || o.dry_breakers.size() > 256)
    return fail(ErrorKind::usage,
                "dry: a length below 0, more than 1,048,576 tokens or 256 breakers");
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

Result<Sampler> make_sampler(const SamplingOptions& options, const Tokenizer* tokenizer) {
  ETCH_TRY(check_options(options));
  auto state = std::make_unique<Sampler::State>();
  state->logit_bias = options.logit_bias;
  state->seed = options.seed;
  state->random = CountedRandom(options.seed);
  std::vector<const SamplerKind*> kinds, last;
  for (const std::string& wanted : options.steps) {
    const SamplerKind* kind = find_sampler_kind(wanted);
    if (!kind) {
      return fail(ErrorKind::usage, "no sampler step '{}'; there are {}", wanted,
                  known_sampler_kinds());
    }
    (kind->stands_last ? last : kinds).push_back(kind);
  }
  if (options.mirostat != 0) {
    kinds = {find_sampler_kind("temperature")};
    last = {find_sampler_kind("mirostat")};
  }
  if (last.size() > 1) last.resize(1);
  kinds.insert(kinds.end(), last.begin(), last.end());
  bool only_truncates = true, has_temperature = false;
  for (const SamplerKind* kind : kinds) {
    if (kind->needs_texts && !tokenizer && (kind->name != "dry" || options.dry_multiplier != 0)) {
      return fail(ErrorKind::usage, "the sampler step {} needs a vocabulary with texts",
                  kind->name);
    }
    has_temperature |= kind->name == "temperature";
    auto step = kind->make(options, tokenizer);
    if (!step) continue;
    only_truncates &= kind->only_truncates;
    state->steps.push_back(std::move(step));
  }
  state->greedy =
      has_temperature && options.temperature <= 0 && options.dynamic_range <= 0 && only_truncates;
  return Sampler(std::move(state));
}

namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

bool is_allowed(std::span<const uint64_t> allowed, size_t id) {
  return allowed.empty() || (id / 64 < allowed.size() && (allowed[id / 64] >> (id % 64)) & 1);
}

// What a stage did: who was possible before and is not any more.
class StageWatch {
 public:
  StageWatch(SampleTrace* trace, const Candidates& candidates)
      : trace_(trace), candidates_(candidates) {
    if (trace_) remember();
  }
  void note(const std::string& name) {
    if (!trace_) return;
    const std::unordered_map<int32_t, double> before = std::move(possible_);
    remember();
    SampleTrace::Stage stage{.name = name,
                             .before = static_cast<int64_t>(before.size()),
                             .after = static_cast<int64_t>(possible_.size()),
                             .removed = {}};
    for (const auto& [id, p] : before) {
      if (!possible_.contains(id)) stage.removed.push_back({id, p});
    }
    const auto likelier = [](const SampleTrace::Token& a, const SampleTrace::Token& b) {
      return a.p != b.p ? a.p > b.p : a.id < b.id;
    };
    const auto n = std::min<int64_t>(std::ssize(stage.removed), SampleTrace::Stage::kMaxRemoved);
    std::partial_sort(stage.removed.begin(), stage.removed.begin() + n, stage.removed.end(),
                      likelier);
    stage.removed.resize(static_cast<size_t>(n));
    trace_->stages.push_back(std::move(stage));
  }

 private:
  void remember() {
    possible_.clear();
    const double sum = candidates_.exponentials(weights_);
    for (int64_t i = 0; i < candidates_.size(); ++i) {
      if (candidates_.logits[i] != kNone) possible_[candidates_.id(i)] = weights_[i] / sum;
    }
  }
  SampleTrace* trace_;
  const Candidates& candidates_;
  std::vector<double> weights_;
  std::unordered_map<int32_t, double> possible_;
};

}  // namespace

Result<int32_t> Sampler::sample(std::span<const float> logits, std::span<const uint64_t> allowed,
                                SampleTrace* trace) {
  State& s = *state_;
  constexpr float kMax = std::numeric_limits<float>::max();
  int64_t best = -1, bad = -1;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] <= kMax)) bad = static_cast<int64_t>(i);  // NaN or +inf
    if ((best < 0 || logits[i] > logits[best]) && is_allowed(allowed, i))
      best = static_cast<int64_t>(i);
  }
  if (bad >= 0) {
    return fail(ErrorKind::damaged, "the logit of token {} is {}: the model computed nonsense", bad,
                logits[bad]);
  }
  if (best < 0 || logits[best] < -kMax) {
    return fail(ErrorKind::damaged, "no token is possible: all {} logits{} are -inf", logits.size(),
                allowed.empty() ? "" : " that the grammar allows");
  }
  if (s.greedy && s.logit_bias.empty() && !trace) return static_cast<int32_t>(best);

  Candidates& c = s.candidates;
  c.logits.assign(logits.begin(), logits.end());
  c.ids.clear();
  c.whole = true;
  c.sorted = false;
  StageWatch watch(trace, c);
  if (!allowed.empty()) {
    for (size_t i = 0; i < c.logits.size(); ++i) {
      if (!is_allowed(allowed, i)) c.logits[i] = kNone;
    }
    watch.note("grammar");
  }
  for (const auto& [id, bias] : s.logit_bias) {
    if (id >= 0 && id < c.size()) c.logits[id] += bias;
  }
  if (!s.logit_bias.empty()) watch.note("bias");
  for (const auto& step : s.steps) {
    step->apply(c);
    watch.note(step->print());
  }
  const double sum = c.exponentials(s.weights);
  if (!(sum > 0))
    return fail(ErrorKind::damaged, "no token is possible: the sampler's steps left none ({})",
                print());
  const int64_t chosen = draw(s.weights, sum, s.random.next_unit());
  const double p = s.weights[chosen] / sum;
  if (!s.steps.empty()) s.steps.back()->drawn(c, chosen, p);
  if (trace) {
    trace->id = c.id(chosen);
    trace->p = p;
    Candidates raw;
    raw.logits.assign(logits.begin(), logits.end());
    std::vector<double> weights;
    const double all = raw.exponentials(weights);
    trace->p_raw = weights[trace->id] / all;
  }
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
