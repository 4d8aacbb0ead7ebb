// JSON to values of templates.
#pragma once

#include <nlohmann/json.hpp>

#include "text/jinja/interpreter.h"

namespace etch::jinja {

// Texts in it are `outside` or the template's own. Fails past 200 levels of nesting.
Result<Value> value_of_json(const nlohmann::ordered_json& json, bool outside, int depth = 0);

}  // namespace etch::jinja
