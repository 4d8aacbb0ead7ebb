#include <algorithm>
#include <map>
#include <optional>

#include "base/utf8.h"
#include "text/grammar/formats.h"
#include "text/utf8.h"

namespace etch {

namespace {

constexpr int64_t kMaxLeast = 2000;  // of a repetition
constexpr int64_t kMaxMost = 100'000;
constexpr int kMaxNesting = 200;  // of parentheses
constexpr size_t kMaxBytes = 16 << 20;

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

class GbnfParser {
 public:
  explicit GbnfParser(std::string_view text) : text_(text) {}

  Result<Grammar> parse() {
    if (text_.size() > kMaxBytes)
      return fail(ErrorKind::unsupported, "the grammar has more than {} bytes", kMaxBytes);
    if (!is_valid_utf8(text_)) return fail(ErrorKind::damaged, "the grammar is no valid UTF-8");
    if (text_.empty()) {  // as llama.cpp: only the empty text
      grammar_.root = grammar_.add_rule("root", grammar_.text(""));
      return std::move(grammar_);
    }
    skip_space(true);
    while (at_ < text_.size()) ETCH_TRY(parse_rule());
    for (size_t r = 0; r < grammar_.rules.size(); ++r) {
      if (grammar_.rules[r].body >= 0) continue;
      at_ = first_use_[r];
      return error("the rule '{}' is not defined", grammar_.rules[r].name);
    }
    const int32_t root = find_rule("root");
    if (root < 0) return fail(ErrorKind::damaged, "there is no rule 'root', where a text begins");
    grammar_.root = root;
    const std::string cycle = find_left_recursion(grammar_);
    if (!cycle.empty()) {
      return fail(ErrorKind::unsupported,
                  "a rule begins with itself: {}\n  write the repetition behind what is repeated: "
                  "list ::= item (\",\" item)*",
                  cycle);
    }
    return std::move(grammar_);
  }

 private:
  template <class... Args>
  tl::unexpected<Error> error(fmt::format_string<Args...> format, Args&&... args) const {
    const std::string_view before = text_.substr(0, at_);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
    int64_t column = 1;
    for (const char c : before.substr(start)) column += (c & 0xC0) != 0x80;
    return fail(ErrorKind::damaged, "line {}, column {}: {}", line, column,
                fmt::format(format, std::forward<Args>(args)...));
  }
  std::string here() const {
    if (at_ >= text_.size()) return "the end";
    const Utf8Char c = decode_utf8(text_, at_);
    return quote(text_.substr(at_, static_cast<size_t>(c.bytes)));
  }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool take(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }

  void skip_space(bool newlines) {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find_first_of("\r\n", at_), text_.size());
      } else if (c == ' ' || c == '\t' || (newlines && (c == '\r' || c == '\n'))) {
        ++at_;
      } else {
        return;
      }
    }
  }

  Result<std::string_view> parse_name() {
    const size_t start = at_;
    while (is_name_char(peek())) ++at_;
    if (at_ == start) return error("expected the name of a rule, found {}", here());
    return text_.substr(start, at_ - start);
  }

  int32_t find_rule(std::string_view name) const {
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? -1 : found->second;
  }
  int32_t rule_named(std::string_view name, size_t used_at) {
    const int32_t known = find_rule(name);
    if (known >= 0) return known;
    first_use_.push_back(used_at);
    return numbers_[std::string(name)] = grammar_.add_rule(name);
  }

  Status parse_rule() {
    const size_t start = at_;
    const std::string_view name = ETCH_TRY(parse_name());
    skip_space(false);
    if (!take("::=")) return error("expected ::= behind the name '{}', found {}", name, here());
    skip_space(true);
    const int32_t rule = rule_named(name, start);
    const ExpressionId body = ETCH_TRY(parse_alternatives(0));
    grammar_.rules[static_cast<size_t>(rule)].body = body;
    if (at_ < text_.size() && !take("\r\n") && !take("\n") && !take("\r"))
      return error("expected the end of the rule '{}', found {}", name, here());
    skip_space(true);
    return {};
  }

  Result<ExpressionId> parse_alternatives(int nesting) {
    std::vector<ExpressionId> alternatives;
    while (true) {
      alternatives.push_back(ETCH_TRY(parse_sequence(nesting)));
      if (!take("|")) break;
      skip_space(true);
    }
    return grammar_.choice(std::move(alternatives));
  }

  Result<ExpressionId> parse_sequence(int nesting) {
    std::vector<ExpressionId> items;
    while (true) {
      auto item = ETCH_TRY(parse_item(nesting));
      if (!item) break;
      while (true) {
        skip_space(nesting > 0);
        const auto repeated = ETCH_TRY(parse_repetition(*item));
        if (!repeated) break;
        item = repeated;
      }
      items.push_back(*item);
    }
    return grammar_.sequence(std::move(items));
  }

  // None at the end of a sequence.
  Result<std::optional<ExpressionId>> parse_item(int nesting) {
    const char c = peek();
    if (c == '"') {
      ++at_;
      std::string literal;
      while (peek() != '"') {
        if (at_ >= text_.size()) return error("the literal has no closing '\"'");
        append_utf8(literal, ETCH_TRY(parse_char()));
      }
      ++at_;
      return std::optional(grammar_.text(literal));
    }
    if (c == '[') return parse_class();
    if (c == '.') {
      ++at_;
      return std::optional(grammar_.chars(all_chars()));
    }
    if (c == '(') {
      if (nesting >= kMaxNesting) return error("more than {} parentheses are open", kMaxNesting);
      const size_t opened = at_++;
      skip_space(true);
      const ExpressionId inner = ETCH_TRY(parse_alternatives(nesting + 1));
      if (!take(")")) {
        if (at_ >= text_.size()) {
          at_ = opened;
          return error("the parenthesis is not closed");
        }
        return error("expected ')', found {}", here());
      }
      return std::optional(inner);
    }
    if (c == '<' || (c == '!' && peek(1) == '<')) return parse_token();
    if (is_name_char(c)) {
      const size_t start = at_;
      const std::string_view name = ETCH_TRY(parse_name());
      return std::optional(grammar_.call(rule_named(name, start)));
    }
    if (c == '*' || c == '+' || c == '?' || c == '{')
      return error("there is nothing in front of {} to repeat", here());
    return std::optional<ExpressionId>();
  }

  Result<std::optional<ExpressionId>> parse_class() {
    const size_t opened = at_++;
    const bool negated = take("^");
    CharSet set;
    while (peek() != ']') {
      const size_t start = at_;
      if (at_ >= text_.size()) {
        at_ = opened;
        return error("the class has no closing ']'");
      }
      CharRange range;
      range.low = range.high = ETCH_TRY(parse_char());
      if (peek() == '-' && peek(1) != ']' && at_ + 1 < text_.size()) {
        ++at_;
        range.high = ETCH_TRY(parse_char());
        if (range.high < range.low) {
          at_ = start;
          return error("the range runs backwards, from U+{:04X} to U+{:04X}", range.low,
                       range.high);
        }
      }
      set.push_back(range);
    }
    ++at_;
    if (set.empty()) return std::optional(grammar_.text(""));
    set = make_char_set(std::move(set));
    return std::optional(grammar_.chars(negated ? complement(set) : set));
  }

  Result<std::optional<ExpressionId>> parse_token() {
    const bool negated = take("!");
    const size_t start = at_;
    const size_t close = text_.find('>', at_);
    if (close == text_.npos || close > text_.find('\n', at_))
      return error("the token has no closing '>'");
    const std::string_view name = text_.substr(start, close + 1 - start);
    at_ = close + 1;
    if (!name.starts_with("<[")) return std::optional(grammar_.token(-1, name, negated));
    int64_t id = 0;
    const std::string_view digits = name.substr(2, name.size() - 3);
    bool is_number = digits.size() >= 2 && digits.size() <= 10 && digits.ends_with(']');
    for (const char d : digits.substr(0, digits.empty() ? 0 : digits.size() - 1)) {
      is_number &= d >= '0' && d <= '9';
      id = id * 10 + (d - '0');
    }
    if (!is_number) {
      at_ = start;
      return error("expected a token as <[number]> or <text>, found {}", quote(name));
    }
    return std::optional(grammar_.token(static_cast<int32_t>(id), "", negated));
  }

  Result<uint32_t> parse_char() {
    if (peek() != '\\') {
      const Utf8Char c = decode_utf8(text_, at_);
      at_ += static_cast<size_t>(c.bytes);
      return c.code;
    }
    const size_t start = at_++;
    const char c = peek();
    ++at_;
    switch (c) {
      case 't':
        return '\t';
      case 'r':
        return '\r';
      case 'n':
        return '\n';
      case '\\':
      case '"':
      case '[':
      case ']':
        return static_cast<uint32_t>(c);
      case 'x':
      case 'u':
      case 'U': {
        uint32_t code = 0;
        for (int i = c == 'x' ? 2 : c == 'u' ? 4 : 8; i > 0; --i, ++at_) {
          const char d = peek();
          const int value = d >= '0' && d <= '9'   ? d - '0'
                            : d >= 'a' && d <= 'f' ? d - 'a' + 10
                            : d >= 'A' && d <= 'F' ? d - 'A' + 10
                                                   : -1;
          if (value < 0) return error("expected a hexadecimal digit, found {}", here());
          code = code << 4 | static_cast<uint32_t>(value);
        }
        if (code <= kMaxCodePoint && (code < 0xD800 || code > 0xDFFF)) return code;
        at_ = start;
        return error("U+{:04X} is no character", code);
      }
      default:
        at_ = start;
        return error("there is no escape {}; known are \\t \\r \\n \\\\ \\\" \\[ \\] \\x \\u \\U",
                     quote(text_.substr(start, 2)));
    }
  }

  Result<std::optional<int64_t>> parse_count() {
    const size_t start = at_;
    int64_t n = 0;
    while (peek() >= '0' && peek() <= '9' && n <= kMaxMost) n = n * 10 + (text_[at_++] - '0');
    if (at_ == start) return std::optional<int64_t>();
    if (n > kMaxMost) {
      at_ = start;
      return error("at most {} repetitions can be asked for", kMaxMost);
    }
    return std::optional(n);
  }

  // None where the item is not repeated.
  Result<std::optional<ExpressionId>> parse_repetition(ExpressionId item) {
    if (take("*")) return std::optional(grammar_.repeat(item, 0, -1));
    if (take("+")) return std::optional(grammar_.repeat(item, 1, -1));
    if (take("?")) return std::optional(grammar_.repeat(item, 0, 1));
    const size_t start = at_;
    if (!take("{")) return std::optional<ExpressionId>();
    skip_space(true);
    const auto least = ETCH_TRY(parse_count());
    if (!least) return error("expected a number, found {}", here());
    skip_space(true);
    int64_t most = *least;
    if (take(",")) {
      skip_space(true);
      most = ETCH_TRY(parse_count()).value_or(-1);
      skip_space(true);
    }
    if (!take("}")) return error("expected '}}', found {}", here());
    if (*least > kMaxLeast || (most >= 0 && most < *least)) {
      at_ = start;
      if (*least > kMaxLeast)
        return error("at least {} is more than the limit {}", *least, kMaxLeast);
      return error("at most {} is less than at least {}", most, *least);
    }
    return std::optional(grammar_.repeat(item, *least, most));
  }

  std::string_view text_;
  size_t at_ = 0;
  Grammar grammar_;
  std::map<std::string, int32_t, std::less<>> numbers_;
  std::vector<size_t> first_use_;  // by rule
};

}  // namespace

Result<Grammar> parse_gbnf(std::string_view text) { return GbnfParser(text).parse(); }

Result<Grammar> choices_grammar(const std::vector<std::string>& choices) {
  if (choices.empty()) return fail(ErrorKind::usage, "there is nothing to choose from");
  Grammar grammar;
  std::vector<ExpressionId> texts;
  for (const std::string& choice : choices) {
    if (!is_valid_utf8(choice))
      return fail(ErrorKind::damaged, "the choice {} is no valid UTF-8", quote(choice));
    texts.push_back(grammar.text(choice));
  }
  grammar.root = grammar.add_rule("root", grammar.choice(std::move(texts)));
  return grammar;
}

}  // namespace etch
