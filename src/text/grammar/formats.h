// The texts a grammar can be written in. Each becomes a Grammar, or an error that says where; what
// cannot be enforced is never ignored.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/grammar/grammar.h"

namespace etch {

// GBNF, llama.cpp's dialect. Stricter than that where it lets pass what can only be a mistake:
// reversed ranges and counts.
Result<Grammar> parse_gbnf(std::string_view text);

// A text must match the whole expression. ECMAScript's syntax with Unicode; without what is not
// regular (back-references) or looks around.
Result<Grammar> parse_regex(std::string_view pattern);

// One of these, as they are.
Result<Grammar> choices_grammar(const std::vector<std::string>& choices);

struct SchemaOptions {
  // Keywords that may stay unenforced, by name: someone has said that they know.
  std::vector<std::string> unenforced;
};
// JSON Schema, draft 2020-12. Texts that are allowed are valid; not all valid texts are allowed
// (properties come in the order of the schema, no others unless it says so:
// docs/structured-output.md).
Result<Grammar> parse_json_schema(std::string_view text, const SchemaOptions& options = {});

// The expression of a pattern inside another grammar. `is_search`: it may match anywhere in the
// text, as in JSON Schema, else the whole of it.
Result<ExpressionId> add_regex(Grammar& grammar, std::string_view pattern, bool is_search);

}  // namespace etch
