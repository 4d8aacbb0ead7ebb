// The values between operators: numbers, texts, names, lists, calls, mix.
#include <charconv>

#include "circuit/parser.h"

namespace etch {

ExprPtr Parser::atom() {
  const Token& t = peek();
  const bool next_statement = brackets_ == 0 && t.starts_line && is("=", 1);
  if (next_statement) {
    error(here(), "expected a value here");
    return nullptr;
  }
  if (t.kind == Token::Kind::number) return number();
  if (t.kind == Token::Kind::text) {
    ExprPtr e = make(Expr::Kind::text, next().at);
    e->text = std::string(t.text);
    return e;
  }
  if (t.kind == Token::Kind::name) return word();
  if (is("(")) return parenthesised();
  if (is("[")) return list();
  error(here(), at_end() ? "the text ends where a value is expected" : "expected a value here");
  return nullptr;
}

ExprPtr Parser::number() {
  const Token& t = next();
  ExprPtr e = make(Expr::Kind::number, t.at);
  e->text = std::string(t.text);
  const char* end = t.text.data() + t.text.size();
  const auto whole = std::from_chars(t.text.data(), end, e->integer);
  e->is_integer = whole.ec == std::errc() && whole.ptr == end;
  const auto real = std::from_chars(t.text.data(), end, e->real);
  if (real.ec != std::errc() || (whole.ec == std::errc::result_out_of_range && whole.ptr == end)) {
    error(t.at, "this number is out of range");
    return nullptr;
  }
  return e;
}

ExprPtr Parser::parenthesised() {
  const Location open = next().at;
  ++brackets_;
  ExprPtr e = expr();
  --brackets_;
  if (e == nullptr || !expect(")", "parentheses")) return nullptr;
  e->parenthesised = true;
  e->at.begin = open.begin;
  e->at.end = since(open).end;
  return e;
}

ExprPtr Parser::list() {
  ExprPtr e = make(Expr::Kind::list, next().at);
  if (take("]")) {
    e->at = since(e->at);
    return e;
  }
  ++brackets_;
  if (!adopt(*e, expr())) return nullptr;
  if (take("for")) {
    e->kind = Expr::Kind::each_list;
    Range r;
    if (!name(e->variable, "a list") || !expect("in", "a list") || !range(r)) return nullptr;
    if (!adopt(*e, std::move(r.first)) || !adopt(*e, std::move(r.last))) return nullptr;
  }
  while (e->kind == Expr::Kind::list && take(","))
    if (!adopt(*e, expr())) return nullptr;
  --brackets_;
  if (!take("]")) {
    ++brackets_;
    error(here(), "expected ',' or ']' here, in a list");
    return nullptr;
  }
  e->at = since(e->at);
  return e;
}

ExprPtr Parser::word() {
  const Token& t = peek();
  const bool called = is("(", 1) && (brackets_ > 0 || !peek(1).starts_line);
  if (called && t.text != "not" && t.text != "and" && t.text != "or" && t.text != "in")
    return call();
  if (t.text == "mix") return mix();
  if (t.text == "true" || t.text == "false") {
    ExprPtr e = make(Expr::Kind::truth, next().at);
    e->truth = t.text == "true";
    return e;
  }
  if (t.text == "none") return make(Expr::Kind::none, next().at);
  if (const auto s = symbol_of_name(t.text)) {
    ExprPtr e = make(Expr::Kind::symbol, next().at);
    e->text = std::string(t.text);
    e->symbol = *s;
    return e;
  }
  if (is_reserved_word(t.text)) {
    error(t.at, fmt::format("expected a value here, '{}' is a reserved word", t.text));
    return nullptr;
  }
  ExprPtr e = make(Expr::Kind::name, next().at);
  e->text = std::string(t.text);
  return e;
}

ExprPtr Parser::call() {
  ExprPtr e = make(Expr::Kind::call, peek().at);
  e->text = std::string(next().text);
  next();  // (
  const std::string in = fmt::format("the arguments of {}", e->text);
  if (!take(")") && !comma_list(")", in, [&] { return argument(*e); })) return nullptr;
  e->at = since(e->at);
  return e;
}

bool Parser::argument(Expr& call) {
  Argument a;
  a.at = peek().at;
  if (peek().kind == Token::Kind::name && is(":", 1)) {
    a.attribute = std::string(next().text);
    next();
    for (const Argument& before : call.arguments)
      if (before.attribute == a.attribute)
        return error(a.at, fmt::format("'{}' is given twice", a.attribute));
  } else if (!call.arguments.empty() && !call.arguments.back().attribute.empty())
    return error(a.at, "an argument without a name must stand before those with one");
  if (!expression(a.value)) return false;
  call.depth = std::max(call.depth, a.value->depth + 1);
  if (call.depth > kMaxDepth) {
    too_deep(call.at);
    return false;
  }
  call.arguments.push_back(std::move(a));
  return true;
}

ExprPtr Parser::mix() {
  ExprPtr e = make(Expr::Kind::mix, next().at);
  if (!name(e->variable, "mix")) return nullptr;
  if (take(",") && !name(e->weight, "mix")) return nullptr;
  if (!expect("in", "mix") || !adopt(*e, expr()) || !expect("{", "mix")) return nullptr;
  ++brackets_;
  if (!adopt(*e, expr())) return nullptr;
  --brackets_;
  if (!expect("}", "mix")) return nullptr;
  e->at = since(e->at);
  return e;
}

}  // namespace etch
