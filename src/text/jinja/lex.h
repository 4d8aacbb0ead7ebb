// Lexer of templates: text outside of tags, and the tokens inside of them. Whitespace control
// happens here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/chat_template.h"
#include "text/jinja/ast.h"

namespace etch::jinja {

enum class TokenKind : uint8_t {
  data,         // text between tags
  print_begin,  // {{
  print_end,    // }}
  tag_begin,    // {%
  tag_end,      // %}
  name,
  text,  // a string literal, unescaped
  integer,
  real,
  symbol,  // an operator or bracket
  end,
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;
  Place place;
};

// trim_blocks and lstrip_blocks are on, the trailing newline of the source is dropped, line ends
// become \n: what Hugging Face's transformers sets up.
Result<std::vector<Token>> lex(std::string_view source, TemplateProblem& problem);

}  // namespace etch::jinja
