// The texts a grammar can be written in. Each becomes a Grammar, or an error that says where; what
// cannot be enforced is never ignored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/grammar/grammar.h"

namespace etch {

// GBNF, llama.cpp's dialect. Stricter than that where it lets pass what can only be a mistake:
// reversed ranges and counts.
Result<Grammar> parse_gbnf(std::string_view text);

// One of these, as they are.
Result<Grammar> choices_grammar(const std::vector<std::string>& choices);

}  // namespace etch
