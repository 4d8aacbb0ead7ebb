// SamplerStep: one stage of the chain. The stages stand in samplers.def; each has a file of its own
// here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/sampler.h"
#include "text/samplers/candidates.h"

namespace etch {

class SamplerStep {
 public:
  virtual ~SamplerStep() = default;
  virtual void apply(Candidates& candidates) = 0;
  virtual void accept(int32_t) {}  // a token of the text, prompt included
  // What was drawn behind this step, as the last one: candidate `place`, with probability p.
  virtual void drawn(const Candidates&, int64_t /*place*/, double /*p*/) {}
  virtual void reset() {}
  virtual std::string print() const = 0;  // "top_k 40"
  virtual std::unique_ptr<SamplerStep> clone() const = 0;
};

// A row of samplers.def. `make` gives null where the options switch the step off.
struct SamplerKind {
  std::string_view name;
  std::unique_ptr<SamplerStep> (*make)(const SamplingOptions& options, const Tokenizer* tokenizer);
  bool only_truncates;  // never takes away the largest logit and never changes the order of logits
  bool needs_texts;     // must know what tokens write
  bool stands_last;     // steers the draw: behind all others, wherever the list has it
};

// Case, and "-" or nothing for "_", make no difference: top_k, top-k, TopK. Null for an unknown
// name.
const SamplerKind* find_sampler_kind(std::string_view name);
std::string known_sampler_kinds();
// "edskypmxt": a letter a step, in order. Empty if one is no such letter.
std::vector<std::string> sampler_names_of_letters(std::string_view letters);

}  // namespace etch
