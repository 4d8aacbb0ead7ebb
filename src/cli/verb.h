// Verbs: what can stand behind `etch`. verbs.def lists them; each one declares its options on a
// parser and gives the function that runs when they have been read.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "base/result.h"

namespace etch::cli {

class Parser;

using Action = std::function<Result<int>()>;  // gives the exit code: 0, or 1 where the answer is no

struct Verb {
  std::string_view name, summary;
  Action (*setup)(Parser& parser);
};
std::span<const Verb> all_verbs();

#define VERB(name, summary) Action setup_##name(Parser& parser);
#include "cli/verbs.def"
#undef VERB

}  // namespace etch::cli
