#include "text/jinja/lex.h"

#include <algorithm>

#include "text/utf8.h"

namespace etch::jinja {

namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<uint8_t>(c) >= 0x80;
}
bool is_name_part(char c) { return is_name_start(c) || is_digit(c); }

std::string with_unix_line_ends(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  Lexer(std::string_view source, TemplateProblem& problem)
      : source_(with_unix_line_ends(source)), problem_(problem) {}

  Result<std::vector<Token>> run() {
    while (at_ < source_.size()) {
      const size_t tag = find_tag(at_);
      const char kind = tag < source_.size() ? source_[tag + 1] : 0;
      std::string data = source_.substr(at_, tag - at_);
      const size_t data_at = at_;
      if (kind != 0) strip_before(data, tag, kind == '{');
      if (!data.empty()) add(TokenKind::data, std::move(data), data_at);
      if (kind == 0) break;
      at_ = tag + 2;
      if (at_ < source_.size() && (source_[at_] == '-' || source_[at_] == '+')) ++at_;
      if (kind == '#') {
        ETCH_TRY(skip_comment(tag));
      } else if (kind == '%' && word_at(skip_spaces(at_)) == "raw") {
        ETCH_TRY(lex_raw(tag));
      } else {
        ETCH_TRY(lex_tag(tag, kind == '{'));
      }
    }
    add(TokenKind::end, "", source_.size());
    return std::move(tokens_);
  }

 private:
  // Where the next {{ {% {# begins.
  size_t find_tag(size_t from) const {
    for (size_t i = from; (i = source_.find('{', i)) != std::string::npos && i + 1 < source_.size();
         ++i) {
      if (source_[i + 1] == '{' || source_[i + 1] == '%' || source_[i + 1] == '#') return i;
    }
    return source_.size();
  }

  // "-" takes all white space before the tag; else a tag that is no print takes the blanks before
  // it where it stands first on its line, unless "+" forbids it.
  void strip_before(std::string& data, size_t tag, bool is_print) const {
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : 0;
    if (sign == '-') {
      while (!data.empty() && is_space(data.back())) data.pop_back();
    } else if (sign != '+' && !is_print) {
      const size_t newline = data.rfind('\n');
      if (newline == std::string::npos && !line_start_) return;
      const size_t line = newline == std::string::npos ? 0 : newline + 1;
      if (data.find_first_not_of(" \t", line) == std::string::npos) data.resize(line);
    }
  }

  // Behind "%}" or "#}" one newline goes, behind "-%}" all white space; at_ stands after the
  // bracket.
  void strip_after(bool minus, bool plus) {
    const size_t before = at_;
    if (minus) {
      while (at_ < source_.size() && is_space(source_[at_])) ++at_;
    } else if (!plus && at_ < source_.size() && source_[at_] == '\n') {
      ++at_;
    }
    line_start_ = at_ > before && source_[at_ - 1] == '\n';
  }

  Status skip_comment(size_t tag) {
    const size_t end = source_.find("#}", at_);
    if (end == std::string::npos) return syntax(tag, "the comment has no end: expected '#}}'");
    const char sign = end > tag + 2 ? source_[end - 1] : 0;
    at_ = end + 2;
    strip_after(sign == '-', sign == '+');
    return {};
  }

  size_t skip_spaces(size_t from) const {
    while (from < source_.size() && is_space(source_[from])) ++from;
    return from;
  }
  std::string_view word_at(size_t from) const {
    size_t end = from;
    while (end < source_.size() && is_name_part(source_[end])) ++end;
    return std::string_view(source_).substr(from, end - from);
  }

  // {% raw %} ... {% endraw %}: the text between is data.
  Status lex_raw(size_t tag) {
    size_t at = skip_spaces(skip_spaces(at_) + 3);
    const bool minus = at < source_.size() && source_[at] == '-';
    if (minus) ++at;
    if (source_.compare(at, 2, "%}") != 0) return syntax(tag, "expected '%}}' after raw");
    at_ = at + 2;
    if (minus) at_ = skip_spaces(at_);
    line_start_ = false;
    for (size_t end = at_; (end = source_.find("{%", end)) != std::string::npos; end += 2) {
      size_t word = end + 2;
      if (word < source_.size() && (source_[word] == '-' || source_[word] == '+')) ++word;
      word = skip_spaces(word);
      if (word_at(word) != "endraw") continue;
      size_t close = skip_spaces(word + 6);
      const char sign = close < source_.size() ? source_[close] : 0;
      if (sign == '-' || sign == '+') ++close;
      if (source_.compare(close, 2, "%}") != 0) continue;
      std::string data = source_.substr(at_, end - at_);
      strip_before(data, end, false);
      if (!data.empty()) add(TokenKind::data, std::move(data), at_);
      at_ = close + 2;
      strip_after(sign == '-', sign == '+');
      return {};
    }
    return syntax(tag, "raw has no end: expected '{{% endraw %}}'");
  }

  Status lex_tag(size_t tag, bool is_print) {
    add(is_print ? TokenKind::print_begin : TokenKind::tag_begin, "", tag);
    const std::string_view close = is_print ? "}}" : "%}";
    std::string brackets;  // open ones, as the characters that close them
    while (true) {
      at_ = skip_spaces(at_);
      if (at_ >= source_.size()) return syntax(tag, "the tag has no end: expected '{}'", close);
      if (brackets.empty()) {
        const char sign = source_[at_];
        const bool signed_end =
            (sign == '-' || (sign == '+' && !is_print)) && source_.compare(at_ + 1, 2, close) == 0;
        if (signed_end || source_.compare(at_, 2, close) == 0) {
          const size_t end = at_;
          at_ += signed_end ? 3 : 2;
          if (is_print) {
            strip_after(signed_end, true);
          } else {
            strip_after(signed_end && sign == '-', signed_end && sign == '+');
          }
          add(is_print ? TokenKind::print_end : TokenKind::tag_end, "", end);
          return {};
        }
      }
      ETCH_TRY(lex_token(brackets));
    }
  }

  Status lex_token(std::string& brackets) {
    const char c = source_[at_];
    if (is_name_start(c)) {
      const std::string_view word = word_at(at_);
      add(TokenKind::name, std::string(word), at_);
      at_ += word.size();
      return {};
    }
    if (is_digit(c)) return lex_number();
    if (c == '\'' || c == '"') return lex_text();
    for (const std::string_view symbol : {"//", "**", "==", "!=", ">=", "<="}) {
      if (source_.compare(at_, 2, symbol) != 0) continue;
      add(TokenKind::symbol, std::string(symbol), at_);
      at_ += 2;
      return {};
    }
    if (std::string_view("+-/*%~[](){}><=.:|,;").find(c) == std::string_view::npos) {
      return syntax(at_, "unexpected character '{}'",
                    source_.substr(at_, decode_utf8(source_, at_).bytes));
    }
    if (c == '(') brackets += ')';
    if (c == '[') brackets += ']';
    if (c == '{') brackets += '}';
    if (c == ')' || c == ']' || c == '}') {
      if (brackets.empty()) return syntax(at_, "unexpected '{}'", c);
      if (brackets.back() != c)
        return syntax(at_, "unexpected '{}', expected '{}'", c, brackets.back());
      brackets.pop_back();
    }
    add(TokenKind::symbol, std::string(1, c), at_);
    ++at_;
    return {};
  }

  // digits with single underscores between them; at the end of `from` if there are none
  size_t digits_end(size_t from, std::string_view allowed = "0123456789") const {
    size_t end = from;
    while (end < source_.size()) {
      if (allowed.find(source_[end]) != std::string_view::npos) {
        ++end;
      } else if (source_[end] == '_' && end > from && end + 1 < source_.size() &&
                 allowed.find(source_[end + 1]) != std::string_view::npos) {
        ++end;
      } else {
        break;
      }
    }
    return end;
  }

  Status lex_number() {
    const size_t begin = at_;
    const bool after_dot = begin > 0 && source_[begin - 1] == '.';  // a.0.1: items, not 0.1
    size_t end = 0;
    bool real = false;
    const char prefix = begin + 1 < source_.size() ? static_cast<char>(source_[begin + 1] | 32) : 0;
    if (source_[begin] == '0' && (prefix == 'x' || prefix == 'o' || prefix == 'b')) {
      const std::string_view allowed = prefix == 'x'   ? "0123456789abcdefABCDEF"
                                       : prefix == 'o' ? "01234567"
                                                       : "01";
      end = digits_end(begin + 2, allowed);
      if (end == begin + 2) return syntax(begin, "a number without digits");
    } else {
      end = digits_end(begin);
      if (!after_dot) {
        if (end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) {
          end = digits_end(end + 1);
          real = true;
        }
        if (end < source_.size() && (source_[end] | 32) == 'e') {
          size_t exponent = end + 1;
          if (exponent < source_.size() && (source_[exponent] == '+' || source_[exponent] == '-'))
            ++exponent;
          if (exponent < source_.size() && is_digit(source_[exponent])) {
            end = digits_end(exponent);
            real = true;
          }
        }
      }
    }
    std::string digits = source_.substr(begin, end - begin);
    digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    add(real ? TokenKind::real : TokenKind::integer, std::move(digits), begin);
    at_ = end;
    return {};
  }

  Status lex_text() {
    const char quote = source_[at_];
    const size_t begin = at_;
    std::string text;
    for (size_t i = begin + 1; i < source_.size(); ++i) {
      const char c = source_[i];
      if (c == quote) {
        add(TokenKind::text, std::move(text), begin);
        at_ = i + 1;
        return {};
      }
      if (c != '\\') {
        text += c;
        continue;
      }
      if (++i == source_.size()) break;
      i = unescape(i, text);
    }
    return syntax(begin, "the text has no end: expected {}", quote);
  }

  // Python's escapes. `i` stands on the character behind the backslash; gives the last one used.
  size_t unescape(size_t i, std::string& text) const {
    const char c = source_[i];
    constexpr std::string_view letters = "nrtbfav\\'\"0";
    constexpr std::string_view values = "\n\r\t\b\f\a\v\\'\"";
    const size_t known = letters.find(c);
    if (known < values.size()) {
      text += values[known];
      return i;
    }
    if (c == '\n') return i;  // a line continued
    if (c >= '0' && c <= '7') {
      uint32_t code = 0;
      size_t end = i;
      for (; end < i + 3 && end < source_.size() && source_[end] >= '0' && source_[end] <= '7';
           ++end) {
        code = code * 8 + static_cast<uint32_t>(source_[end] - '0');
      }
      append_utf8(text, code);
      return end - 1;
    }
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits > 0 && i + digits < source_.size()) {
      uint32_t code = 0;
      bool good = true;
      for (size_t d = i + 1; d <= i + digits; ++d) {
        const char h = source_[d];
        const int value = is_digit(h)                          ? h - '0'
                          : (h | 32) >= 'a' && (h | 32) <= 'f' ? (h | 32) - 'a' + 10
                                                               : -1;
        good &= value >= 0;
        code = code * 16 + static_cast<uint32_t>(value & 15);
      }
      if (good && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF)) {
        append_utf8(text, code);
        return i + digits;
      }
    }
    text += '\\';
    text += c;
    return i;
  }

  // Line and column of an offset. Offsets only grow, so lines are counted once.
  Place place_of(size_t offset) {
    for (; counted_ < offset; ++counted_) {
      if (source_[counted_] == '\n') ++line_, line_begin_ = counted_ + 1;
    }
    return {line_, static_cast<int>(offset >= line_begin_ ? offset - line_begin_ : 0) + 1};
  }

  void add(TokenKind kind, std::string text, size_t offset) {
    tokens_.push_back({kind, std::move(text), place_of(offset)});
  }

  template <class... Args>
  tl::unexpected<Error> syntax(size_t offset, fmt::format_string<Args...> format, Args&&... args) {
    counted_ = line_begin_ = 0, line_ = 1;
    const Place place = place_of(offset);
    problem_ = {TemplateProblem::Kind::syntax, fmt::format(format, std::forward<Args>(args)...),
                place.line, place.column};
    return tl::unexpected<Error>(Error{ErrorKind::damaged, problem_.text});
  }

  std::string source_;
  TemplateProblem& problem_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  bool line_start_ = true;  // the data that follow begin a line
  size_t counted_ = 0, line_begin_ = 0;
  int line_ = 1;
};

}  // namespace

Result<std::vector<Token>> lex(std::string_view source, TemplateProblem& problem) {
  return Lexer(source, problem).run();
}

}  // namespace etch::jinja
