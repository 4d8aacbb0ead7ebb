// How a token is chosen: the options of the sampler's steps and of a grammar on a command line.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/grammar/matcher.h"
#include "text/sampler.h"

namespace etch::cli {

class Parser;

struct SamplingFlags {
  SamplingOptions options;
  std::vector<std::string> values, steps, banned, choices;
  std::string grammar_file, schema_file, regex;
  int64_t seed = 0;
  bool explain = false;
};

void add_sampling_options(Parser& parser, SamplingFlags& flags);

Result<Sampler> make_sampler(const SamplingFlags& flags, const Tokenizer& tokenizer);

// The one grammar that was asked for; none without. ErrorKind::usage for more than one.
Result<std::optional<Matcher>> make_matcher(const SamplingFlags& flags, const Tokenizer& tokenizer);

// One draw, a line a stage, on standard error.
void print_draw(const SampleTrace& trace, const Tokenizer& tokenizer);

}  // namespace etch::cli
