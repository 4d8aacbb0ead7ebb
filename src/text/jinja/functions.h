// What the functions of the tables share: checking arguments, walking attributes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/interpreter.h"

namespace etch::jinja {

// The argument as a number of the kind, or the default where it was not given; a type error for
// others.
Result<int64_t> integer_argument(Interpreter& in, const Call& call, size_t i, int64_t missing);
Result<std::string> text_argument(Interpreter& in, const Call& call, size_t i,
                                  std::string_view missing);
bool truth_argument(const Call& call, size_t i, bool missing);
bool is_given(const Call& call, size_t i);  // and not none

// "a.b.0": items by name or number, one after the other. A number is an item too.
Result<Value> walk_attribute(Interpreter& in, const Value& value, const Value& path);

// Keys for sorting: texts without case unless case_sensitive.
Value fold_case(const Value& value, bool case_sensitive);
Status sort_values(Interpreter& in, std::vector<std::pair<Value, Value>>& keyed,
                   bool reverse);  // by .first, stable

}  // namespace etch::jinja
