// Sampler: logits to one token, through an explicit chain of steps whose order is shown and chosen.
//
//   logits -> bias -> penalties -> top_n_sigma -> top_k -> typical_p -> top_p -> min_p -> xtc ->
//   temperature -> draw
//
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
  std::vector<std::pair<int32_t, float>>
      logit_bias;  // added before anything else; -inf forbids a token
  std::vector<std::string> steps = {"penalties", "top_n_sigma", "top_k", "typical_p",
                                    "top_p",     "min_p",       "xtc",   "temperature"};
};

class SamplerStep;  // samplers/step.h

class Sampler {
 public:
  // The next token. Fails on logits that are NaN or +inf, or all -inf. Does not accept it.
  Result<int32_t> sample(std::span<const float> logits);  // [n_vocab]
  void accept(int32_t id);    // every token of the text, prompt included, once and in order
  void reset();               // as made: no history, the generator at its start
  std::string print() const;  // "penalties ... -> top_k 40 -> ... -> draw, seed 7"; steps that do
                              // nothing are left out
  Sampler(const Sampler& other);
  Sampler(Sampler&&) noexcept;
  Sampler& operator=(Sampler&&) noexcept;
  ~Sampler();

 private:
  friend Result<Sampler> make_sampler(const SamplingOptions& options);
  struct State;
  explicit Sampler(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// ErrorKind::usage for an unknown step (with the names there are) and for options out of range.
Result<Sampler> make_sampler(const SamplingOptions& options);

// The log-probabilities of the K likeliest tokens, natural, best first; sums in double.
struct TokenLogprob {
  int32_t id = 0;
  double logprob = 0;
};
std::vector<TokenLogprob> top_logprobs(std::span<const float> logits, int64_t k);

}  // namespace etch
