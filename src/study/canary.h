// Canaries: prompts and the logits a model must give for them, as hashes. A step's result depends
// on model, tokens and settings alone, so one hash holds for every number of threads, instruction
// set, chunking, and for executor and library alike; whoever gives another has a mistake in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "session/session.h"
#include "text/tokenizer.h"

namespace etch {

struct CanaryStep {
  int64_t position = 0;  // of the last token that was fed
  std::string hash;      // XXH3-128 of the logits of that position, float32, little-endian
  struct Top {
    int32_t id = 0;
    float logit = 0;
  };
  std::vector<Top> top;  // the largest, first the largest; of equal ones the lower id
};

struct Canary {
  std::string text;             // what the tokens say, "" without a vocabulary
  std::vector<int32_t> tokens;  // the prompt; each further step feeds the top token of the last one
  std::vector<CanaryStep> steps;  // after the prompt, and after each token fed
};

struct Canaries {
  std::string output = "logits";  // or "hidden", of circuits without logits
  int64_t n_ctx = 0;              // and the type of cached keys and values, which logits depend on
  std::string kv;
  std::vector<Canary> prompts;
};

// Three prompts: a few tokens (decode), more than a decode step takes (prefill), and one that goes
// past a page of cached positions where the context has room. Without a tokenizer their ids are
// drawn.
Result<std::vector<Canary>> canary_prompts(const Tokenizer* tokenizer, int64_t n_vocab,
                                           const Limits& limits);

// Runs prompts, filling in their steps: one for the prompt and `n_more` greedy ones (none where a
// circuit keeps no state).
Status run_canaries(Session& session, std::vector<Canary>& prompts, int64_t n_more);
Result<Canaries> make_canaries(Session& session, const Tokenizer* tokenizer);

// Runs them again and says what is different, a line each; empty: nothing.
Result<std::vector<std::string>> replay(Session& session, const Canaries& canaries);

std::string print_canaries_json(const Canaries& canaries);  // "etch.canary/1"
Result<Canaries> parse_canaries(std::string_view json);

}  // namespace etch
