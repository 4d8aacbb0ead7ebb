// How values are written: as {{ }} prints them (Python's str), as Python's repr, and as JSON.
#pragma once

#include <string>

#include "base/result.h"
#include "text/jinja/value.h"

namespace etch::jinja {

std::string print_real(double value);  // Python: 1.0, 1e+16, 1e-05, inf

// Texts inside come out marked as they are. Nesting is bounded by the interpreter.
MarkedText print_repr(const Value& value);
MarkedText print_str(const Value& value);

struct JsonStyle {
  std::string item_separator = ", ", key_separator = ": ";
  std::string indent;  // of one level
  bool has_indent = false;
  bool ensure_ascii = false;
  bool sort_keys = false;
};
// Fails with the name of the type that JSON cannot hold.
Result<MarkedText> print_json(const Value& value, const JsonStyle& style);

}  // namespace etch::jinja
