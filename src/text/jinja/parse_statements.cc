#include <algorithm>

#include "text/jinja/parser.h"

namespace etch::jinja {

namespace {

std::unique_ptr<Statement> make_statement(StatementKind kind, Place place) {
  auto s = std::make_unique<Statement>();
  s->kind = kind;
  s->place = place;
  return s;
}

}  // namespace

Result<Body> Parser::parse_all() {
  Body body = ETCH_TRY(parse_body({}));
  if (now().kind != TokenKind::end) return wrong("the end of the template");
  return body;
}

Result<Body> Parser::parse_body(const Words& ends) {
  Body body;
  ++depth_;
  ETCH_TRY(enter());
  while (true) {
    if (now().kind == TokenKind::end) {
      if (!ends.empty()) return wrong(fmt::format("'{{% {} %}}'", ends.back()));
      break;
    }
    if (now().kind == TokenKind::data) {
      auto s = make_statement(StatementKind::data, now().place);
      s->text = take().text;
      body.push_back(std::move(s));
      continue;
    }
    if (now().kind == TokenKind::print_begin) {
      auto s = make_statement(StatementKind::print, take().place);
      s->expression = ETCH_TRY(parse_tuple());
      if (now().kind != TokenKind::print_end) return wrong("'}}'");
      ++at_;
      body.push_back(std::move(s));
      continue;
    }
    ++at_;  // {%
    if (now().kind != TokenKind::name) return wrong("the name of a tag");
    if (std::find(ends.begin(), ends.end(), now().text) != ends.end()) break;
    body.push_back(ETCH_TRY(parse_tag()));
  }
  --depth_;
  return body;
}

Status Parser::finish_tag(std::string_view end) {
  if (!end.empty() && !skip_name(end)) return wrong(fmt::format("'{}'", end));
  if (now().kind != TokenKind::tag_end) return wrong("'%}'");
  ++at_;
  return {};
}

Result<std::unique_ptr<Statement>> Parser::parse_tag() {
  const Token tag = take();
  if (tag.text == "for") return parse_for();
  if (tag.text == "if") return parse_if();
  if (tag.text == "set") return parse_set();
  if (tag.text == "macro") return parse_macro();
  if (tag.text == "call") return parse_call_block();
  if (tag.text == "filter") return parse_filter_block();
  if (tag.text == "with") return parse_with();
  if (tag.text == "generation") return parse_scope("endgeneration");
  if (tag.text == "break" || tag.text == "continue") {
    if (loops_ == 0) return wrong_at(tag.place, fmt::format("'{}' outside of a loop", tag.text));
    auto s = make_statement(tag.text == "break" ? StatementKind::break_ : StatementKind::continue_,
                            tag.place);
    ETCH_TRY(finish_tag(""));
    return s;
  }
  if (tag.text == "print") {
    auto s = make_statement(StatementKind::print, tag.place);
    s->expression = ETCH_TRY(parse_tuple());
    ETCH_TRY(finish_tag(""));
    return s;
  }
  if (tag.text == "include" || tag.text == "import" || tag.text == "from" ||
      tag.text == "extends") {
    auto s = make_statement(StatementKind::unsupported, tag.place);
    s->text = tag.text;
    while (now().kind != TokenKind::tag_end && now().kind != TokenKind::end) ++at_;
    ETCH_TRY(finish_tag(""));
    return s;
  }
  return wrong_at(tag.place, fmt::format("unknown tag '{}'", tag.text));
}

Result<ExpressionPtr> Parser::parse_target(bool allow_attribute) {
  const Place place = now().place;
  std::vector<ExpressionPtr> parts;
  bool is_tuple = false;
  do {
    if (!parts.empty() && (is_name("in") || is_symbol("="))) break;  // a trailing comma
    if (skip_symbol("(")) {
      parts.push_back(ETCH_TRY(parse_target(false)));
      ETCH_TRY(expect_symbol(")"));
      continue;
    }
    const Place at = now().place;
    std::string name = ETCH_TRY(expect_name("the name of a variable"));
    for (const std::string_view constant : {"true", "false", "none", "True", "False", "None"}) {
      if (name == constant) return wrong_at(at, fmt::format("'{}' cannot be set", name));
    }
    ExpressionPtr e = make(ExpressionKind::name, at, std::move(name));
    if (allow_attribute && skip_symbol(".")) {
      ExpressionPtr outer =
          make(ExpressionKind::attribute, at, ETCH_TRY(expect_name("a name after '.'")));
      outer->parts.push_back(std::move(e));
      e = std::move(outer);
    }
    parts.push_back(std::move(e));
  } while (is_symbol(",") && (is_tuple = true, skip_symbol(",")));
  if (!is_tuple) return std::move(parts[0]);
  ExpressionPtr tuple = make(ExpressionKind::tuple, place);
  tuple->parts = std::move(parts);
  return tuple;
}

Result<std::unique_ptr<Statement>> Parser::parse_for() {
  auto s = make_statement(StatementKind::for_, now().place);
  s->target = ETCH_TRY(parse_target(false));
  if (!skip_name("in")) return wrong("'in'");
  s->expression = ETCH_TRY(parse_tuple(true));
  if (skip_name("if")) s->condition = ETCH_TRY(parse_expression());
  s->recursive = skip_name("recursive");
  ETCH_TRY(finish_tag(""));
  ++loops_;
  s->body = ETCH_TRY(parse_body({"else", "endfor"}));
  --loops_;
  if (skip_name("else")) {
    ETCH_TRY(finish_tag(""));
    s->otherwise = ETCH_TRY(parse_body({"endfor"}));
  }
  ETCH_TRY(finish_tag("endfor"));
  return s;
}

// elif is an if in the else branch.
Result<std::unique_ptr<Statement>> Parser::parse_if() {
  auto first = make_statement(StatementKind::if_, now().place);
  Statement* s = first.get();
  const int depth = depth_;
  while (true) {
    ++depth_;
    ETCH_TRY(enter());
    s->expression = ETCH_TRY(parse_tuple());
    ETCH_TRY(finish_tag(""));
    s->body = ETCH_TRY(parse_body({"elif", "else", "endif"}));
    if (is_name("elif")) {
      s->otherwise.push_back(make_statement(StatementKind::if_, take().place));
      s = s->otherwise.back().get();
      continue;
    }
    if (skip_name("else")) {
      ETCH_TRY(finish_tag(""));
      s->otherwise = ETCH_TRY(parse_body({"endif"}));
    }
    ETCH_TRY(finish_tag("endif"));
    depth_ = depth;
    return first;
  }
}

Result<std::unique_ptr<Statement>> Parser::parse_set() {
  auto s = make_statement(StatementKind::set, now().place);
  s->target = ETCH_TRY(parse_target(true));
  if (skip_symbol("=")) {
    s->expression = ETCH_TRY(parse_tuple());
    ETCH_TRY(finish_tag(""));
    return s;
  }
  s->kind = StatementKind::set_block;
  ExpressionPtr filters;
  while (is_symbol("|")) filters = ETCH_TRY(parse_filter(std::move(filters)));
  s->expression = std::move(filters);
  ETCH_TRY(finish_tag(""));
  s->body = ETCH_TRY(parse_body({"endset"}));
  ETCH_TRY(finish_tag("endset"));
  return s;
}

Status Parser::parse_parameters(Statement& macro) {
  ETCH_TRY(expect_symbol("("));
  while (!is_symbol(")")) {
    if (!macro.parameters.empty()) ETCH_TRY(expect_symbol(","));
    if (is_symbol(")")) break;
    macro.parameters.push_back(ETCH_TRY(expect_name("the name of a parameter")));
    if (skip_symbol("=")) {
      macro.defaults.push_back(ETCH_TRY(parse_expression()));
    } else if (!macro.defaults.empty()) {
      return wrong("a default, since a parameter before has one");
    }
  }
  return expect_symbol(")");
}

Result<std::unique_ptr<Statement>> Parser::parse_macro() {
  auto s = make_statement(StatementKind::macro, now().place);
  s->text = ETCH_TRY(expect_name("the name of the macro"));
  ETCH_TRY(parse_parameters(*s));
  ETCH_TRY(finish_tag(""));
  const int loops = std::exchange(loops_, 0);
  macros_.push_back(s.get());
  s->body = ETCH_TRY(parse_body({"endmacro"}));
  macros_.pop_back();
  loops_ = loops;
  ETCH_TRY(finish_tag("endmacro"));
  return s;
}

Result<std::unique_ptr<Statement>> Parser::parse_call_block() {
  auto s = make_statement(StatementKind::call_block, now().place);
  if (is_symbol("(")) ETCH_TRY(parse_parameters(*s));
  s->expression = ETCH_TRY(parse_expression());
  if (s->expression->kind != ExpressionKind::call)
    return wrong_at(s->place, "expected a call after 'call'");
  ETCH_TRY(finish_tag(""));
  const int loops = std::exchange(loops_, 0);
  macros_.push_back(s.get());
  s->body = ETCH_TRY(parse_body({"endcall"}));
  macros_.pop_back();
  loops_ = loops;
  ETCH_TRY(finish_tag("endcall"));
  return s;
}

Result<std::unique_ptr<Statement>> Parser::parse_filter_block() {
  auto s = make_statement(StatementKind::filter_block, now().place);
  --at_;  // parse_filter steps over the bar, here over the word "filter"
  ExpressionPtr filters = ETCH_TRY(parse_filter(nullptr));
  while (is_symbol("|")) filters = ETCH_TRY(parse_filter(std::move(filters)));
  s->expression = std::move(filters);
  ETCH_TRY(finish_tag(""));
  s->body = ETCH_TRY(parse_body({"endfilter"}));
  ETCH_TRY(finish_tag("endfilter"));
  return s;
}

Result<std::unique_ptr<Statement>> Parser::parse_with() {
  auto s = make_statement(StatementKind::with, now().place);
  while (now().kind != TokenKind::tag_end) {
    if (!s->targets.empty()) ETCH_TRY(expect_symbol(","));
    const Place place = now().place;
    s->targets.push_back(
        make(ExpressionKind::name, place, ETCH_TRY(expect_name("the name of a variable"))));
    ETCH_TRY(expect_symbol("="));
    s->values.push_back(ETCH_TRY(parse_expression()));
  }
  ETCH_TRY(finish_tag(""));
  s->body = ETCH_TRY(parse_body({"endwith"}));
  ETCH_TRY(finish_tag("endwith"));
  return s;
}

Result<std::unique_ptr<Statement>> Parser::parse_scope(std::string_view end) {
  auto s = make_statement(StatementKind::scope, now().place);
  ETCH_TRY(finish_tag(""));
  s->body = ETCH_TRY(parse_body({end}));
  ETCH_TRY(finish_tag(end));
  return s;
}

}  // namespace etch::jinja
