// Sampler: logits to one token, through an explicit chain of steps whose order is shown and chosen.
//
//   logits -> mask -> bias -> penalties -> dry -> top_n_sigma -> top_k -> typical_p -> top_p ->
//   min_p -> xtc -> temperature -> draw
//
// The mask is a grammar's: what it forbids is gone before anything else looks. The draw is by the
// softmax of what is left; adaptive_p and mirostat, where chosen, stand last and steer it.
// Same options, same logits, same history: the same token on every machine. Nothing here depends on
// libm, on the standard library's distributions, or on the order in which a sort leaves equal
// elements (ties: lower id first).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace etch {

struct SamplingOptions {
  uint64_t seed = 0;
  float temperature = 0.8f;  // <= 0: greedy
  float dynamic_range =
      0.0f;  // <= 0: off; else the temperature moves by this much with the entropy
  float dynamic_exponent = 1.0f;
  int64_t top_k = 40;            // <= 0: off
  float top_p = 0.95f;           // >= 1: off
  float min_p = 0.05f;           // <= 0: off
  float typical_p = 1.0f;        // >= 1: off
  float top_n_sigma = -1.0f;     // <= 0: off
  float xtc_probability = 0.0f;  // <= 0: off
  float xtc_threshold = 0.1f;    // > 0.5: off
  int64_t min_keep = 0;          // candidates a truncating step must leave
  float repeat_penalty = 1.0f;
  float frequency_penalty = 0.0f;
  float presence_penalty = 0.0f;
  int64_t penalty_last_n = 64;  // tokens looked back at, prompt included
  float dry_multiplier = 0.0f;  // <= 0: off
  float dry_base = 1.75f;
  int64_t dry_allowed_length = 2;  // repetitions up to here are free
  int64_t dry_last_n = 64;         // tokens looked back at
  std::vector<std::string> dry_breakers = {"\n", ":", "\"", "*"};  // no repetition goes over one
  int64_t mirostat = 0;  // 1, 2: this alone, behind the temperature
  float mirostat_tau = 5.0f, mirostat_eta = 0.1f;
  float adaptive_target = -1.0f;  // < 0: off
  float adaptive_decay = 0.9f;
  std::vector<std::pair<int32_t, float>>
      logit_bias;  // added before anything else; -inf forbids a token
  std::vector<std::string> steps = {"penalties",   "dry",       "top_n_sigma", "top_k",
                                    "typical_p",   "top_p",     "min_p",       "xtc",
                                    "temperature", "adaptive_p"};
};

class SamplerStep;  // samplers/step.h
class Tokenizer;

// What one draw did, stage by stage.
struct SampleTrace {
  struct Token {
    int32_t id = 0;
    double p = 0;  // before the stage
  };
  struct Stage {
    std::string name;               // "top_k 40"
    int64_t before = 0, after = 0;  // possible tokens
    std::vector<Token> removed;     // the likeliest of those that went, at most kMaxRemoved
    static constexpr int64_t kMaxRemoved = 3;
  };
  std::vector<Stage> stages;
  int32_t id = -1;
  double p = 0;      // of the draw
  double p_raw = 0;  // by the model alone
};

class Sampler {
 public:
  // The next token. Fails on logits that are NaN or +inf, or all -inf. Does not accept it.
  // `allowed` has a bit a token, those beyond its end are not allowed; empty: all are.
  Result<int32_t> sample(std::span<const float> logits,  // [n_vocab]
                         std::span<const uint64_t> allowed = {}, SampleTrace* trace = nullptr);
  void accept(int32_t id);    // every token of the text, prompt included, once and in order
  void reset();               // as made: no history, the generator at its start
  std::string print() const;  // "penalties ... -> top_k 40 -> ... -> draw, seed 7"; steps that do
                              // nothing are left out
  Sampler(const Sampler& other);
  Sampler(Sampler&&) noexcept;
  Sampler& operator=(Sampler&&) noexcept;
  ~Sampler();

 private:
  friend Result<Sampler> make_sampler(const SamplingOptions& options, const Tokenizer* tokenizer);
  struct State;
  explicit Sampler(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// ErrorKind::usage for an unknown step (with the names there are), for options out of range, and
// for steps that look at texts (dry, infill) without a tokenizer, which must outlive the sampler.
Result<Sampler> make_sampler(const SamplingOptions& options, const Tokenizer* tokenizer = nullptr);

// The log-probabilities of the K likeliest tokens, natural, best first; sums in double.
struct TokenLogprob {
  int32_t id = 0;
  double logprob = 0;
};
std::vector<TokenLogprob> top_logprobs(std::span<const float> logits, int64_t k);

}  // namespace etch
