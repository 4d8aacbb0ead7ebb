// Sampler: logits to one token, through an explicit chain of steps whose order is shown and chosen.
//
//   logits -> penalties -> top_k -> top_p -> min_p -> temperature -> draw
//
// Same options, same logits, same history: the same token on every machine. Nothing here depends on
// libm, on the standard library's distributions, or on the order in which a sort leaves equal
// elements (ties: lower id first).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace etch {

struct SamplingOptions {
  uint64_t seed = 0;
  float temperature = 0.8f;  // <= 0: greedy
  int64_t top_k = 40;        // <= 0: off
  float top_p = 0.95f;       // >= 1: off
  float min_p = 0.05f;       // <= 0: off
  int64_t min_keep = 0;      // candidates a truncating step must leave
  float repeat_penalty = 1.0f;
  float frequency_penalty = 0.0f;
  float presence_penalty = 0.0f;
  int64_t penalty_last_n = 64;  // tokens looked back at, prompt included
  std::vector<std::string> steps = {"penalties", "top_k", "top_p", "min_p", "temperature"};
};

// What the steps work on. Starts as one candidate per vocabulary entry; truncating steps shorten
// it.
struct Candidates {
  std::vector<int32_t> ids;
  std::vector<float> logits;  // of ids[i]; -inf counts as probability 0
  bool sorted = false;        // descending logit, equal ones by ascending id

  int64_t size() const { return static_cast<int64_t>(ids.size()); }
};

class SamplerStep {
 public:
  virtual ~SamplerStep() = default;
  virtual void apply(Candidates& candidates) = 0;
  virtual void accept(int32_t) {}
  virtual void reset() {}
  virtual std::string print() const = 0;  // "top_k 40"
  virtual std::unique_ptr<SamplerStep> clone() const = 0;
};

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
  Sampler();
  std::vector<std::unique_ptr<SamplerStep>> steps_;
  Candidates candidates_;  // kept for its memory
  uint64_t seed_ = 0;
  uint64_t draws_ = 0;
  bool greedy_ =
      false;  // temperature <= 0 and no step that could change the order: the largest logit at once
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
