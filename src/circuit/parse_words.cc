// Words, brackets and names: what every statement of a circuit is read with.
#include "circuit/parser.h"

namespace etch {

// Where a missing word is missed: behind the last one if the line has ended.
Location Parser::here() const {
  if (brackets_ == 0 && peek().starts_line && pos_ > statement_) {
    Location at = tokens_[pos_ - 1].at;
    at.column += at.end - at.begin;
    at.begin = at.end;
    return at;
  }
  return peek().at;
}

bool Parser::error(const Location& at, std::string message) {
  diagnostics_.error(at, std::move(message));
  return false;
}

bool Parser::expect(std::string_view text, std::string_view in) {
  if (take(text)) return true;
  return error(here(), fmt::format("expected '{}' here, in {}", text, in));
}

Location Parser::since(const Location& first) const {
  Location at = first;
  if (pos_ > 0) at.end = std::max(at.end, tokens_[pos_ - 1].at.end);
  return at;
}

// On to the next line or the end of the block at this depth.
void Parser::skip_statement(size_t began) {
  int depth = 0;
  brackets_ = 0;
  while (!at_end()) {
    if (depth == 0 && pos_ > began && (peek().starts_line || is("}")) && !is(")") && !is("]"))
      return;
    if (is("{") || is("(") || is("[")) ++depth;
    if ((is("}") || is(")") || is("]")) && depth > 0) --depth;
    if (depth > 0 && pos_ > began && peek().starts_line && starts_section()) return;
    next();
  }
}

bool Parser::starts_section() const {
  return peek().kind == Token::Kind::name && peek().at.column == 1 &&
         section(peek().text) != nullptr;
}

void Parser::skip_to_section() {
  while (!at_end() && !(peek().starts_line && starts_section())) next();
}

// Statements between braces. `statement` reports its own error and gives false.
bool Parser::block(std::string_view in, const std::function<bool()>& statement) {
  const Location open = peek().at;
  if (!expect("{", in)) return false;
  if (++depth_ > kMaxDepth) {
    error(open, "blocks are nested too deeply");
    --depth_;
    return false;
  }
  const int outer = std::exchange(brackets_, 0);
  bool closed = false;
  while (!at_end()) {
    if (take("}")) {
      closed = true;
      break;
    }
    if (peek().starts_line && starts_section()) break;
    const size_t began = statement_ = pos_;
    if (!statement()) skip_statement(began);
  }
  if (!closed && !std::exchange(unclosed_, true))
    error(open, fmt::format("this brace is never closed, in {}", in));
  brackets_ = outer;
  --depth_;
  return true;
}

bool Parser::end_statement(std::string_view in) {
  if (peek().starts_line || is("}") || at_end()) return true;
  return error(peek().at, fmt::format("expected the end of the line here, in {}", in));
}

// item {, item} CLOSE, the opening bracket being behind us; at least one.
bool Parser::comma_list(std::string_view close, std::string_view in,
                        const std::function<bool()>& item) {
  ++brackets_;
  do {
    if (!item()) return false;
  } while (take(","));
  --brackets_;
  if (take(close)) return true;
  ++brackets_;
  return error(here(), fmt::format("expected ',' or '{}' here, in {}", close, in));
}

bool Parser::name(Name& out, std::string_view in, bool dotted) {
  const Token& t = peek();
  if (t.kind != Token::Kind::name)
    return error(here(), fmt::format("expected a name here, in {}", in));
  if (is_reserved_word(t.text) || (!dotted && t.text.find('.') != std::string_view::npos))
    return error(
        t.at,
        t.text.find('.') != std::string_view::npos
            ? fmt::format("'{}' cannot be a name: dots belong to names of config.json, in imports",
                          t.text)
            : fmt::format("'{}' is a reserved word and cannot be a name", t.text));
  if (symbol_of_name(t.text))
    return error(t.at, fmt::format("'{}' is a symbol and cannot be a name", t.text));
  out = {std::string(t.text), t.at};
  next();
  return true;
}

bool Parser::text(std::string& out, std::string_view in) {
  if (peek().kind != Token::Kind::text)
    return error(here(), fmt::format("expected a text in quotes here, in {}", in));
  out = std::string(next().text);
  return true;
}

}  // namespace etch
