// Words of a template, and what may be wrong with them.
#include <algorithm>

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

// A dotted name is one name: filters and tests of extensions are called so.
Result<std::string> Parser::expect_dotted_name(std::string_view what) {
  std::string name = ETCH_TRY(expect_name(what));
  while (skip_symbol(".")) name += "." + ETCH_TRY(expect_name("a name after '.'"));
  return name;
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

}  // namespace etch::jinja
