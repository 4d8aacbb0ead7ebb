// Expressions, from the loosest operator to the tightest.
#include <algorithm>

#include "text/jinja/parser.h"

namespace etch::jinja {

Result<ExpressionPtr> Parser::parse_expression() {
  const ParserNesting nesting(*this);
  ETCH_TRY(enter());
  const Place place = now().place;
  ExpressionPtr e = ETCH_TRY(parse_or());
  while (skip_name("if")) {
    ExpressionPtr condition = make(ExpressionKind::condition, place);
    condition->parts.push_back(std::move(e));
    condition->parts.push_back(ETCH_TRY(parse_or()));
    condition->parts.push_back(skip_name("else") ? ETCH_TRY(parse_expression()) : nullptr);
    e = ETCH_TRY(finish(std::move(condition)));
  }
  return e;
}

// operand {OPERATOR operand}, grouped from the left.
Result<ExpressionPtr> Parser::parse_chain(std::initializer_list<std::string_view> operators,
                                          Result<ExpressionPtr> (Parser::*operand)()) {
  const auto here = [&] {
    return std::any_of(operators.begin(), operators.end(),
                       [&](std::string_view op) { return is_symbol(op) || is_name(op); });
  };
  ExpressionPtr e = ETCH_TRY((this->*operand)());
  while (here()) {
    const Token op = take();
    ExpressionPtr both = make(ExpressionKind::binary, op.place, op.text);
    both->parts.push_back(std::move(e));
    both->parts.push_back(ETCH_TRY((this->*operand)()));
    e = ETCH_TRY(finish(std::move(both)));
  }
  return e;
}

Result<ExpressionPtr> Parser::parse_or() { return parse_chain({"or"}, &Parser::parse_and); }
Result<ExpressionPtr> Parser::parse_and() { return parse_chain({"and"}, &Parser::parse_not); }

Result<ExpressionPtr> Parser::parse_not() {
  if (!is_name("not")) return parse_compare();
  const ParserNesting nesting(*this);
  ETCH_TRY(enter());
  ExpressionPtr e = make(ExpressionKind::unary, take().place, "not");
  e->parts.push_back(ETCH_TRY(parse_not()));
  return finish(std::move(e));
}

Result<ExpressionPtr> Parser::parse_compare() {
  const Place place = now().place;
  ExpressionPtr first = ETCH_TRY(parse_sum());
  ExpressionPtr e;
  while (true) {
    std::string op;
    if (now().kind == TokenKind::symbol &&
        (now().text == "==" || now().text == "!=" || now().text == "<" || now().text == "<=" ||
         now().text == ">" || now().text == ">=")) {
      op = take().text;
    } else if (skip_name("in")) {
      op = "in";
    } else if (is_name("not") && ahead().kind == TokenKind::name && ahead().text == "in") {
      at_ += 2;
      op = "not in";
    } else {
      break;
    }
    if (!e) {
      e = make(ExpressionKind::compare, place);
      e->parts.push_back(std::move(first));
    }
    e->operators.push_back(std::move(op));
    e->parts.push_back(ETCH_TRY(parse_sum()));
  }
  return e ? finish(std::move(e)) : Result<ExpressionPtr>(std::move(first));
}

Result<ExpressionPtr> Parser::parse_sum() { return parse_chain({"+", "-"}, &Parser::parse_concat); }

Result<ExpressionPtr> Parser::parse_concat() {
  ExpressionPtr e = ETCH_TRY(parse_product());
  if (!is_symbol("~")) return e;
  ExpressionPtr all = make(ExpressionKind::concat, now().place);
  all->parts.push_back(std::move(e));
  while (skip_symbol("~")) all->parts.push_back(ETCH_TRY(parse_product()));
  return finish(std::move(all));
}

Result<ExpressionPtr> Parser::parse_product() {
  return parse_chain({"*", "/", "//", "%"}, &Parser::parse_power);
}
Result<ExpressionPtr> Parser::parse_power() { return parse_chain({"**"}, &Parser::parse_factor); }
Result<ExpressionPtr> Parser::parse_factor() { return parse_unary(true); }

Result<ExpressionPtr> Parser::parse_unary(bool with_filter) {
  const ParserNesting nesting(*this);
  ETCH_TRY(enter());
  ExpressionPtr e;
  if (is_symbol("-") || is_symbol("+")) {
    const Token op = take();
    e = make(ExpressionKind::unary, op.place, op.text);
    e->parts.push_back(ETCH_TRY(parse_unary(false)));
    e = ETCH_TRY(finish(std::move(e)));
  } else {
    e = ETCH_TRY(parse_primary());
  }
  e = ETCH_TRY(parse_postfix(std::move(e)));
  return with_filter ? parse_filters(std::move(e)) : Result<ExpressionPtr>(std::move(e));
}

}  // namespace etch::jinja
