// What follows a value: .name, [item], (arguments), | filter, is test.
#include "text/jinja/parser.h"

namespace etch::jinja {

Result<ExpressionPtr> Parser::parse_postfix(ExpressionPtr e) {
  while (true) {
    if (is_symbol(".")) {
      const Place place = take().place;
      ExpressionPtr outer = make(ExpressionKind::attribute, place);
      outer->parts.push_back(std::move(e));
      if (now().kind == TokenKind::name) {
        outer->text = take().text;
      } else if (now().kind == TokenKind::integer) {
        outer->kind = ExpressionKind::item;
        outer->parts.push_back(ETCH_TRY(parse_number()));
      } else {
        return wrong("a name or a number after '.'");
      }
      e = ETCH_TRY(finish(std::move(outer)));
    } else if (is_symbol("[")) {
      e = ETCH_TRY(parse_item(std::move(e)));
    } else if (is_symbol("(")) {
      e = ETCH_TRY(parse_call(std::move(e)));
    } else {
      return e;
    }
  }
}

// x[a], x[a:b:c], x[a, b]
Result<ExpressionPtr> Parser::parse_item(ExpressionPtr base) {
  ExpressionPtr e = make(ExpressionKind::item, take().place);
  e->parts.push_back(std::move(base));
  std::vector<ExpressionPtr> keys;
  if (skip_symbol("]")) {  // x[]: the item of the empty tuple, which is never there
    e->parts.push_back(make(ExpressionKind::tuple, e->place));
    return e;
  }
  do {
    const Place place = now().place;
    ExpressionPtr key = ETCH_TRY(parse_slice_part());
    if (is_symbol(":")) {
      ExpressionPtr slice = make(ExpressionKind::slice, place);
      slice->parts.push_back(std::move(key));
      while (skip_symbol(":") && slice->parts.size() < 3)
        slice->parts.push_back(ETCH_TRY(parse_slice_part()));
      slice->parts.resize(3);
      key = std::move(slice);
    }
    if (!key) return wrong("an index");
    keys.push_back(std::move(key));
  } while (skip_symbol(",") && !is_symbol("]"));
  ETCH_TRY(expect_symbol("]"));
  if (keys.size() == 1) {
    e->parts.push_back(std::move(keys[0]));
  } else {
    ExpressionPtr tuple = make(ExpressionKind::tuple, e->place);
    tuple->parts = std::move(keys);
    e->parts.push_back(std::move(tuple));
  }
  return finish(std::move(e));
}

Result<ExpressionPtr> Parser::parse_slice_part() {
  if (is_symbol(":") || is_symbol("]") || is_symbol(",")) return ExpressionPtr();
  return parse_expression();
}

Result<ExpressionPtr> Parser::parse_call(ExpressionPtr callee) {
  ExpressionPtr call = make(ExpressionKind::call, now().place);
  call->parts.push_back(std::move(callee));
  call->arguments = ETCH_TRY(parse_arguments());
  return finish(std::move(call));
}

Result<std::unique_ptr<CallArguments>> Parser::parse_arguments() {
  auto arguments = std::make_unique<CallArguments>();
  ETCH_TRY(expect_symbol("("));
  bool first = true;
  while (!is_symbol(")")) {
    if (!first) {
      ETCH_TRY(expect_symbol(","));
      if (is_symbol(")")) break;
    }
    first = false;
    if (skip_symbol("*")) {
      arguments->star = ETCH_TRY(parse_expression());
    } else if (skip_symbol("**")) {
      arguments->star_star = ETCH_TRY(parse_expression());
    } else if (now().kind == TokenKind::name && ahead().kind == TokenKind::symbol &&
               ahead().text == "=") {
      std::string name = take().text;
      ++at_;
      arguments->named.emplace_back(std::move(name), ETCH_TRY(parse_expression()));
    } else if (!arguments->named.empty() || arguments->star_star) {
      return wrong("a named argument, since those before have names");
    } else {
      arguments->positional.push_back(ETCH_TRY(parse_expression()));
    }
  }
  ETCH_TRY(expect_symbol(")"));
  return arguments;
}

Result<ExpressionPtr> Parser::parse_filters(ExpressionPtr e) {
  while (true) {
    if (is_symbol("|")) {
      e = ETCH_TRY(parse_filter(std::move(e)));
    } else if (is_name("is")) {
      e = ETCH_TRY(parse_test(std::move(e)));
    } else if (is_symbol("(")) {
      e = ETCH_TRY(parse_call(std::move(e)));
    } else {
      return e;
    }
  }
}

Result<ExpressionPtr> Parser::parse_filter(ExpressionPtr base) {
  ++at_;
  ExpressionPtr e = make(ExpressionKind::filter, now().place);
  e->text = ETCH_TRY(expect_dotted_name("the name of a filter"));
  e->parts.push_back(std::move(base));
  e->arguments = is_symbol("(") ? ETCH_TRY(parse_arguments()) : std::make_unique<CallArguments>();
  return finish(std::move(e));
}

Result<ExpressionPtr> Parser::parse_test(ExpressionPtr base) {
  const Place place = take().place;
  const bool negated = skip_name("not");
  ExpressionPtr e = make(ExpressionKind::test, place);
  e->text = ETCH_TRY(expect_dotted_name("the name of a test"));
  e->parts.push_back(std::move(base));
  e->arguments = std::make_unique<CallArguments>();
  const bool one_argument =
      now().kind == TokenKind::text || now().kind == TokenKind::integer ||
      now().kind == TokenKind::real || is_symbol("[") || is_symbol("{") ||
      (now().kind == TokenKind::name && !is_name("else") && !is_name("or") && !is_name("and"));
  if (is_symbol("(")) {
    e->arguments = ETCH_TRY(parse_arguments());
  } else if (one_argument && !is_name("if") && !is_name("in") && !is_name("not")) {
    if (is_name("is")) return wrong("no second test: tests do not chain");
    e->arguments->positional.push_back(ETCH_TRY(parse_postfix(ETCH_TRY(parse_primary()))));
  }
  if (!negated) return finish(std::move(e));
  ExpressionPtr outer = make(ExpressionKind::unary, place, "not");
  outer->parts.push_back(std::move(e));
  return finish(std::move(outer));
}

}  // namespace etch::jinja
