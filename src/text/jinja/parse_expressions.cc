#include <algorithm>
#include <charconv>

#include "text/jinja/parser.h"

namespace etch::jinja {

namespace {

constexpr int kMaxNesting = 200;
constexpr int kMaxDepth = 1000;  // of an expression

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::data:
      return "text outside of tags";
    case TokenKind::print_begin:
      return "'{{'";
    case TokenKind::print_end:
      return "'}}'";
    case TokenKind::tag_begin:
      return "'{%'";
    case TokenKind::tag_end:
      return "'%}'";
    case TokenKind::text:
      return "a text";
    case TokenKind::end:
      return "the end of the template";
    default:
      return fmt::format("'{}'", token.text);
  }
}

}  // namespace

struct ParserNesting {
  explicit ParserNesting(Parser& parser) : parser_(parser) { ++parser_.depth_; }
  ~ParserNesting() { --parser_.depth_; }
  Parser& parser_;
};

bool Parser::skip_symbol(std::string_view s) {
  if (!is_symbol(s)) return false;
  ++at_;
  return true;
}

bool Parser::skip_name(std::string_view s) {
  if (!is_name(s)) return false;
  ++at_;
  return true;
}

Status Parser::expect_symbol(std::string_view s) {
  if (!skip_symbol(s)) return wrong(fmt::format("'{}'", s));
  return {};
}

Result<std::string> Parser::expect_name(std::string_view what) {
  if (now().kind != TokenKind::name) return wrong(what);
  return take().text;
}

ExpressionPtr Parser::make(ExpressionKind kind, Place place, std::string text) const {
  auto e = std::make_unique<Expression>();
  e->kind = kind;
  e->place = place;
  e->text = std::move(text);
  return e;
}

tl::unexpected<Error> Parser::wrong(std::string_view expected) {
  return wrong_at(now().place, fmt::format("expected {}, found {}", expected, describe(now())));
}

tl::unexpected<Error> Parser::wrong_at(Place place, std::string message) {
  problem_ = {TemplateProblem::Kind::syntax, message, place.line, place.column};
  return tl::unexpected<Error>(Error{ErrorKind::damaged, std::move(message)});
}

Status Parser::enter() {
  if (depth_ <= kMaxNesting) return {};
  problem_ = {TemplateProblem::Kind::limit, fmt::format("nested deeper than {}", kMaxNesting),
              now().place.line, now().place.column};
  return tl::unexpected<Error>(Error{ErrorKind::unsupported, problem_.text});
}

// Chains like a.b.c or 1 + 2 + 3 nest to the left without nesting in the parser.
Result<ExpressionPtr> Parser::finish(ExpressionPtr e) {
  const auto deepen = [&](const ExpressionPtr& part) {
    if (part) e->depth = std::max(e->depth, part->depth + 1);
  };
  for (const ExpressionPtr& part : e->parts) deepen(part);
  if (e->arguments) {
    for (const ExpressionPtr& part : e->arguments->positional) deepen(part);
    for (const auto& named : e->arguments->named) deepen(named.second);
    deepen(e->arguments->star);
    deepen(e->arguments->star_star);
  }
  if (e->depth <= kMaxDepth) return e;
  problem_ = {TemplateProblem::Kind::limit,
              fmt::format("an expression nested deeper than {}", kMaxDepth), e->place.line,
              e->place.column};
  return tl::unexpected<Error>(Error{ErrorKind::unsupported, problem_.text});
}

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

Result<ExpressionPtr> Parser::parse_or() {
  ExpressionPtr e = ETCH_TRY(parse_and());
  while (is_name("or")) {
    ExpressionPtr both = make(ExpressionKind::binary, take().place, "or");
    both->parts.push_back(std::move(e));
    both->parts.push_back(ETCH_TRY(parse_and()));
    e = ETCH_TRY(finish(std::move(both)));
  }
  return e;
}

Result<ExpressionPtr> Parser::parse_and() {
  ExpressionPtr e = ETCH_TRY(parse_not());
  while (is_name("and")) {
    ExpressionPtr both = make(ExpressionKind::binary, take().place, "and");
    both->parts.push_back(std::move(e));
    both->parts.push_back(ETCH_TRY(parse_not()));
    e = ETCH_TRY(finish(std::move(both)));
  }
  return e;
}

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

Result<ExpressionPtr> Parser::parse_sum() {
  ExpressionPtr e = ETCH_TRY(parse_concat());
  while (is_symbol("+") || is_symbol("-")) {
    const Token op = take();
    ExpressionPtr sum = make(ExpressionKind::binary, op.place, op.text);
    sum->parts.push_back(std::move(e));
    sum->parts.push_back(ETCH_TRY(parse_concat()));
    e = ETCH_TRY(finish(std::move(sum)));
  }
  return e;
}

Result<ExpressionPtr> Parser::parse_concat() {
  ExpressionPtr e = ETCH_TRY(parse_product());
  if (!is_symbol("~")) return e;
  ExpressionPtr all = make(ExpressionKind::concat, now().place);
  all->parts.push_back(std::move(e));
  while (skip_symbol("~")) all->parts.push_back(ETCH_TRY(parse_product()));
  return finish(std::move(all));
}

Result<ExpressionPtr> Parser::parse_product() {
  ExpressionPtr e = ETCH_TRY(parse_power());
  while (is_symbol("*") || is_symbol("/") || is_symbol("//") || is_symbol("%")) {
    const Token op = take();
    ExpressionPtr product = make(ExpressionKind::binary, op.place, op.text);
    product->parts.push_back(std::move(e));
    product->parts.push_back(ETCH_TRY(parse_power()));
    e = ETCH_TRY(finish(std::move(product)));
  }
  return e;
}

Result<ExpressionPtr> Parser::parse_power() {
  ExpressionPtr e = ETCH_TRY(parse_unary(true));
  while (is_symbol("**")) {
    ExpressionPtr power = make(ExpressionKind::binary, take().place, "**");
    power->parts.push_back(std::move(e));
    power->parts.push_back(ETCH_TRY(parse_unary(true)));
    e = ETCH_TRY(finish(std::move(power)));
  }
  return e;
}

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
      ExpressionPtr call = make(ExpressionKind::call, now().place);
      call->parts.push_back(std::move(e));
      call->arguments = ETCH_TRY(parse_arguments());
      e = ETCH_TRY(finish(std::move(call)));
    } else {
      return e;
    }
  }
}

Result<ExpressionPtr> Parser::parse_slice_part() {
  if (is_symbol(":") || is_symbol("]") || is_symbol(",")) return ExpressionPtr();
  return parse_expression();
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
      ExpressionPtr call = make(ExpressionKind::call, now().place);
      call->parts.push_back(std::move(e));
      call->arguments = ETCH_TRY(parse_arguments());
      e = ETCH_TRY(finish(std::move(call)));
    } else {
      return e;
    }
  }
}

// A dotted name is one name: filters of extensions are called so.
Result<ExpressionPtr> Parser::parse_filter(ExpressionPtr base) {
  ++at_;
  ExpressionPtr e = make(ExpressionKind::filter, now().place);
  e->text = ETCH_TRY(expect_name("the name of a filter"));
  while (skip_symbol(".")) e->text += "." + ETCH_TRY(expect_name("a name after '.'"));
  e->parts.push_back(std::move(base));
  e->arguments = is_symbol("(") ? ETCH_TRY(parse_arguments()) : std::make_unique<CallArguments>();
  return finish(std::move(e));
}

Result<ExpressionPtr> Parser::parse_test(ExpressionPtr base) {
  const Place place = take().place;
  const bool negated = skip_name("not");
  ExpressionPtr e = make(ExpressionKind::test, place);
  e->text = ETCH_TRY(expect_name("the name of a test"));
  while (skip_symbol(".")) e->text += "." + ETCH_TRY(expect_name("a name after '.'"));
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
