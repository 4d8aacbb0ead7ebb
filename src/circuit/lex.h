// The words of a circuit's text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "circuit/ast.h"
#include "circuit/diagnostics.h"

namespace etch {

struct Token {
  enum class Kind : uint8_t { name, number, text, mark, end };
  Kind kind = Kind::end;
  std::string_view text;  // in the circuit's text; of a text without its quotes
  Location at;
  bool starts_line = false;  // the first word of its line
};

// A name may be dotted (names of config.json in imports); "bias?" is one word. Ends with a token of
// kind end.
std::vector<Token> lex(std::string_view text, Diagnostics& diagnostics);

// Words that cannot be names: those of the grammar, and the symbols.
bool is_reserved_word(std::string_view word);

}  // namespace etch
