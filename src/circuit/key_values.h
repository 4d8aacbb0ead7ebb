// A file's key as a value of dims.
#pragma once

#include <string>

#include "base/result.h"
#include "circuit/dim_value.h"
#include "model/model.h"

namespace etch {

// Integers of any width, reals, truths, texts, and lists of them; `full_name` stays with the value
// for messages.
Result<DimValue> value_of_key(const KeyValue& value, const std::string& full_name);

}  // namespace etch
