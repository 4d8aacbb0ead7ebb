// Values: numbers, texts, names, lists, dicts, tuples.
#include <charconv>

#include "text/jinja/parser.h"

namespace etch::jinja {

Result<ExpressionPtr> Parser::parse_primary() {
  const Token token = now();
  switch (token.kind) {
    case TokenKind::name: {
      ++at_;
      ExpressionPtr e = make(ExpressionKind::constant, token.place);
      if (token.text == "true" || token.text == "True") {
        e->value = Value::boolean(true);
      } else if (token.text == "false" || token.text == "False") {
        e->value = Value::boolean(false);
      } else if (token.text == "none" || token.text == "None") {
        e->value = Value::none();
      } else {
        e->kind = ExpressionKind::name;
        e->text = token.text;
        for (Statement* macro : macros_) {
          macro->uses_varargs |= token.text == "varargs";
          macro->uses_kwargs |= token.text == "kwargs";
          macro->uses_caller |= token.text == "caller";
        }
      }
      return e;
    }
    case TokenKind::text: {
      ExpressionPtr e = make(ExpressionKind::constant, token.place);
      std::string text;
      while (now().kind == TokenKind::text) text += take().text;
      e->value = Value::text(text);
      return e;
    }
    case TokenKind::integer:
    case TokenKind::real:
      return parse_number();
    case TokenKind::symbol:
      if (token.text == "(") {
        ++at_;
        ExpressionPtr e = ETCH_TRY(parse_tuple(false, true));
        ETCH_TRY(expect_symbol(")"));
        return e;
      }
      if (token.text == "[") return parse_list();
      if (token.text == "{") return parse_dict();
      break;
    default:
      break;
  }
  return wrong("an expression");
}

Result<ExpressionPtr> Parser::parse_number() {
  const Token token = take();
  ExpressionPtr e = make(ExpressionKind::constant, token.place);
  const char* first = token.text.data();
  const char* last = first + token.text.size();
  if (token.kind == TokenKind::real) {
    double value = 0;
    std::from_chars(first, last, value);
    e->value = Value::real(value);
    return e;
  }
  int base = 10;
  if (token.text.size() > 2 && token.text[0] == '0' && token.text[1] > '9') {
    const char prefix = static_cast<char>(token.text[1] | 32);
    base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : 2;
    first += 2;
  }
  int64_t value = 0;
  if (std::from_chars(first, last, value, base).ec != std::errc()) {
    return wrong_at(token.place, fmt::format("the number {} is too large (64 bits)", token.text));
  }
  e->value = Value::integer(value);
  return e;
}

Result<ExpressionPtr> Parser::parse_list() {
  ExpressionPtr e = make(ExpressionKind::list, take().place);
  while (!is_symbol("]")) {
    if (!e->parts.empty()) ETCH_TRY(expect_symbol(","));
    if (is_symbol("]")) break;
    e->parts.push_back(ETCH_TRY(parse_expression()));
  }
  ETCH_TRY(expect_symbol("]"));
  return finish(std::move(e));
}

Result<ExpressionPtr> Parser::parse_dict() {
  ExpressionPtr e = make(ExpressionKind::dict, take().place);
  while (!is_symbol("}")) {
    if (!e->parts.empty()) ETCH_TRY(expect_symbol(","));
    if (is_symbol("}")) break;
    e->parts.push_back(ETCH_TRY(parse_expression()));
    ETCH_TRY(expect_symbol(":"));
    e->parts.push_back(ETCH_TRY(parse_expression()));
  }
  ETCH_TRY(expect_symbol("}"));
  return finish(std::move(e));
}

// Words like "if" are names where an expression begins; only behind a comma do they end the tuple.
bool Parser::at_tuple_end(bool behind_comma) const {
  if (behind_comma && (is_symbol("=") || is_name("recursive") || is_name("if"))) return true;
  return now().kind == TokenKind::print_end || now().kind == TokenKind::tag_end ||
         now().kind == TokenKind::end || is_symbol(")");
}

Result<ExpressionPtr> Parser::parse_tuple(bool plain, bool in_brackets) {
  const Place place = now().place;
  std::vector<ExpressionPtr> parts;
  bool is_tuple = false;
  while (true) {
    if (!parts.empty()) {
      if (!skip_symbol(",")) break;
      is_tuple = true;
    }
    if (at_tuple_end(is_tuple)) break;
    parts.push_back(plain ? ETCH_TRY(parse_or()) : ETCH_TRY(parse_expression()));
  }
  if (!is_tuple && parts.size() == 1) return std::move(parts[0]);
  if (parts.empty() && !in_brackets) return wrong("an expression");
  ExpressionPtr e = make(ExpressionKind::tuple, place);
  e->parts = std::move(parts);
  return finish(std::move(e));
}

}  // namespace etch::jinja
