#include "circuit/lex.h"

#include <algorithm>

namespace etch {
namespace {

constexpr std::string_view kReserved[] = {
    "circuit", "match", "dims",  "parts",  "state",    "def",  "flow",    "ignore", "import",
    "each",    "in",    "where", "if",     "else",     "pack", "mix",     "return", "require",
    "key",     "keys",  "meta",  "tensor", "for",      "not",  "and",     "or",     "true",
    "false",   "none",  "bias",  "bias?",  "optional", "as",   "or_each", "role",   "stored"};

// Longer marks first.
constexpr std::string_view kMarks[] = {"..", "->", "==", "!=", "<=", ">=", "+", "-",
                                       "*",  "/",  "%",  "^",  "<",  ">",  "=", "(",
                                       ")",  "[",  "]",  "{",  "}",  ",",  ":", "?"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  Lexer(std::string_view text, Diagnostics& diagnostics) : text_(text), diagnostics_(diagnostics) {}

  std::vector<Token> run() {
    if (text_.substr(0, 3) == "\xEF\xBB\xBF") pos_ = 3;
    while (skip_blank()) word();
    begin_ = pos_;
    add(Token::Kind::end, "");
    tokens_.back().starts_line = true;
    return std::move(tokens_);
  }

 private:
  char at(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  void step() {
    if (text_[pos_] == '\n') {
      ++line_;
      column_ = 1;
      starts_line_ = true;
    } else if ((text_[pos_] & 0xC0) != 0x80) {
      ++column_;
    }
    ++pos_;
  }

  bool skip_blank() {
    while (pos_ < text_.size()) {
      const char c = text_[pos_];
      if (c == '#') {
        while (pos_ < text_.size() && text_[pos_] != '\n') step();
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        step();
      } else {
        break;
      }
    }
    start_ = {line_, column_, static_cast<int>(pos_), 0};
    begin_ = pos_;
    return pos_ < text_.size();
  }

  void add(Token::Kind kind, std::string_view text) {
    Location at = start_;
    if (kind == Token::Kind::end) at = {line_, column_, static_cast<int>(pos_), 0};
    at.end = static_cast<int>(pos_);
    tokens_.push_back({kind, text, at, starts_line_});
    starts_line_ = false;
  }

  void advance_to(size_t end) {
    while (pos_ < end) step();
  }

  void word() {
    const char c = text_[pos_];
    if (is_letter(c)) return name();
    if (is_digit(c)) return number();
    if (c == '"') return quoted();
    for (const std::string_view mark : kMarks) {
      if (text_.substr(pos_, mark.size()) != mark) continue;
      advance_to(pos_ + mark.size());
      return add(Token::Kind::mark, text_.substr(begin_, mark.size()));
    }
    size_t end = pos_ + 1;
    while (end < text_.size() && (text_[end] & 0xC0) == 0x80) ++end;
    const bool printable = static_cast<unsigned char>(c) >= 0x20 && c != 0x7F;
    diagnostics_.error(
        start_, printable
                    ? fmt::format("'{}' means nothing here", text_.substr(pos_, end - pos_))
                    : fmt::format("byte {} means nothing here", static_cast<unsigned char>(c)));
    advance_to(end);
  }

  void name() {
    size_t end = pos_;
    while (is_letter(at(end)) || is_digit(at(end)) || (at(end) == '.' && is_letter(at(end + 1))))
      ++end;
    if (text_.substr(pos_, end - pos_) == "bias" && at(end) == '?') ++end;
    advance_to(end);
    add(Token::Kind::name, text_.substr(begin_, end - begin_));
  }

  void number() {
    size_t end = pos_;
    while (is_digit(at(end))) ++end;
    if (at(end) == '.' && is_digit(at(end + 1))) {
      ++end;
      while (is_digit(at(end))) ++end;
    }
    if (at(end) == 'e' || at(end) == 'E') {
      size_t exponent = end + 1;
      if (at(exponent) == '+' || at(exponent) == '-') ++exponent;
      if (is_digit(at(exponent))) {
        while (is_digit(at(exponent))) ++exponent;
        end = exponent;
      }
    }
    if (is_letter(at(end))) {
      diagnostics_.error(start_, "a number ends in letters");
      while (is_letter(at(end)) || is_digit(at(end))) ++end;
    }
    advance_to(end);
    add(Token::Kind::number, text_.substr(begin_, end - begin_));
  }

  void quoted() {
    size_t end = pos_ + 1;
    while (end < text_.size() && text_[end] != '"' && text_[end] != '\n') ++end;
    const std::string_view inside = text_.substr(pos_ + 1, end - pos_ - 1);
    if (at(end) != '"') {
      diagnostics_.error(start_, "a text begins here and does not end in its line");
    } else {
      ++end;
    }
    advance_to(end);
    add(Token::Kind::text, inside);
  }

  std::string_view text_;
  Diagnostics& diagnostics_;
  std::vector<Token> tokens_;
  Location start_;
  size_t pos_ = 0, begin_ = 0;
  int line_ = 1, column_ = 1;
  bool starts_line_ = true;
};

}  // namespace

std::vector<Token> lex(std::string_view text, Diagnostics& diagnostics) {
  return Lexer(text, diagnostics).run();
}

bool is_reserved_word(std::string_view word) {
  return std::find(std::begin(kReserved), std::end(kReserved), word) != std::end(kReserved);
}

}  // namespace etch
