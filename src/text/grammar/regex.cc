// Regular expressions (ECMAScript, Unicode mode) to expressions of a grammar.
//
// ^ and $ may stand at the ends of an alternative: there they say whether it may begin or end
// inside the text, which add_regex writes out as "anything, then the pattern, then anything".
#include <utf8proc.h>

#include <algorithm>
#include <optional>

#include "base/utf8.h"
#include "text/grammar/formats.h"
#include "text/utf8.h"

namespace etch {

namespace {

constexpr int64_t kMaxCount = 100'000;
constexpr int kMaxNesting = 200;
constexpr size_t kMaxBytes = 1 << 20;

struct Branch {  // one alternative
  std::vector<ExpressionId> items;
  bool from_start = false, to_end = false;  // ^ and $ were there
};

CharSet digits() { return {{'0', '9'}}; }
CharSet word() { return make_char_set({{'a', 'z'}, {'A', 'Z'}, {'0', '9'}, {'_', '_'}}); }
CharSet space() {
  return make_char_set({{'\t', '\r'},
                        {' ', ' '},
                        {0xA0, 0xA0},
                        {0x1680, 0x1680},
                        {0x2000, 0x200A},
                        {0x2028, 0x2029},
                        {0x202F, 0x202F},
                        {0x205F, 0x205F},
                        {0x3000, 0x3000},
                        {0xFEFF, 0xFEFF}});
}
CharSet line_ends() { return make_char_set({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}); }

// A general category of Unicode by its short name, "L" or "Lu"; none if there is no such.
std::optional<CharSet> category(std::string_view name) {
  constexpr std::string_view kLong[][2] = {{"Letter", "L"},
                                           {"Uppercase_Letter", "Lu"},
                                           {"Lowercase_Letter", "Ll"},
                                           {"Mark", "M"},
                                           {"Number", "N"},
                                           {"Decimal_Number", "Nd"},
                                           {"Punctuation", "P"},
                                           {"Symbol", "S"},
                                           {"Separator", "Z"},
                                           {"Other", "C"}};
  for (const auto& [whole, brief] : kLong) {
    if (name == whole) name = brief;
  }
  constexpr std::string_view kNames[] = {
      "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe",
      "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"};
  if (name.empty() || std::none_of(std::begin(kNames), std::end(kNames),
                                   [&](std::string_view n) { return n.starts_with(name); }))
    return std::nullopt;
  CharSet set;
  for (uint32_t code = 0; code <= kMaxCodePoint; ++code) {
    const std::string_view own = utf8proc_category_string(static_cast<utf8proc_int32_t>(code));
    if (!own.starts_with(name)) continue;
    if (!set.empty() && set.back().high + 1 == code) {
      set.back().high = code;
    } else {
      set.push_back({code, code});
    }
  }
  return make_char_set(std::move(set));
}

class RegexParser {
 public:
  RegexParser(Grammar& grammar, std::string_view text) : grammar_(grammar), text_(text) {}

  Result<std::vector<Branch>> parse() {
    if (text_.size() > kMaxBytes)
      return fail(ErrorKind::unsupported, "the pattern has more than {} bytes", kMaxBytes);
    if (!is_valid_utf8(text_)) return fail(ErrorKind::damaged, "the pattern is no valid UTF-8");
    auto branches = ETCH_TRY(parse_alternatives(0));
    if (at_ < text_.size()) return error(ErrorKind::damaged, "there is no '(' for this ')'");
    return branches;
  }

 private:
  template <class... Args>
  tl::unexpected<Error> error(ErrorKind kind, fmt::format_string<Args...> format,
                              Args&&... args) const {
    int64_t place = 1;
    for (const char c : text_.substr(0, at_)) place += (c & 0xC0) != 0x80;
    return fail(kind, "pattern {}, character {}: {}", quote(text_), place,
                fmt::format(format, std::forward<Args>(args)...));
  }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool take(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }

  Result<std::vector<Branch>> parse_alternatives(int nesting) {
    std::vector<Branch> branches;
    do {
      auto more = ETCH_TRY(parse_branch(nesting));
      branches.insert(branches.end(), more.begin(), more.end());
    } while (take("|"));
    return branches;
  }

  // One alternative; several where it is nothing but a group whose alternatives have anchors.
  Result<std::vector<Branch>> parse_branch(int nesting) {
    Branch branch;
    std::vector<Branch> anchored_group;
    while (at_ < text_.size() && peek() != '|' && peek() != ')') {
      if (branch.to_end)
        return error(ErrorKind::unsupported, "something stands behind '$', which ends the text");
      if (!anchored_group.empty() && peek() != '$') {
        return error(ErrorKind::unsupported,
                     "'^' and '$' inside a group are understood only where the group is a whole "
                     "alternative");
      }
      if (peek() == '^') {
        if (!branch.items.empty())
          return error(ErrorKind::unsupported,
                       "something stands before '^', which begins the text");
        ++at_;
        branch.from_start = true;
        continue;
      }
      if (take("$")) {
        branch.to_end = true;
        continue;
      }
      const size_t start = at_;
      if (peek() == '(') {
        std::vector<Branch> inner = ETCH_TRY(parse_group(nesting));
        const bool has_anchors = std::any_of(
            inner.begin(), inner.end(), [](const Branch& b) { return b.from_start || b.to_end; });
        const bool is_repeated = peek() == '*' || peek() == '+' || peek() == '?' || at_count();
        if (has_anchors) {
          if (!branch.items.empty() || is_repeated) {
            at_ = start;
            return error(ErrorKind::unsupported,
                         "'^' and '$' inside a group are understood only where the group is a "
                         "whole alternative");
          }
          anchored_group = std::move(inner);
          continue;
        }
        std::vector<ExpressionId> parts;
        for (Branch& b : inner) parts.push_back(grammar_.sequence(std::move(b.items)));
        branch.items.push_back(ETCH_TRY(parse_counts(grammar_.choice(std::move(parts)))));
        continue;
      }
      const ExpressionId atom = ETCH_TRY(parse_atom());
      branch.items.push_back(ETCH_TRY(parse_counts(atom)));
    }
    if (anchored_group.empty()) return std::vector<Branch>{std::move(branch)};
    for (Branch& b : anchored_group) {
      b.from_start |= branch.from_start;
      b.to_end |= branch.to_end;
    }
    return anchored_group;
  }

  Result<std::vector<Branch>> parse_group(int nesting) {
    const size_t opened = at_++;
    if (nesting >= kMaxNesting)
      return error(ErrorKind::unsupported, "more than {} groups are open", kMaxNesting);
    if (take("?")) {
      if (take("=") || take("!") || take("<=") || take("<!")) {
        at_ = opened;
        return error(ErrorKind::unsupported, "looking ahead and behind cannot be enforced");
      }
      if (take("<") || take("P<")) {
        const size_t close = text_.find('>', at_);
        if (close == text_.npos) return error(ErrorKind::damaged, "the group's name has no '>'");
        at_ = close + 1;
      } else if (!take(":")) {
        at_ = opened;
        return error(ErrorKind::unsupported,
                     "groups are (...), (?:...) and (?<name>...); flags and others are not known");
      }
    }
    auto branches = ETCH_TRY(parse_alternatives(nesting + 1));
    if (!take(")")) {
      at_ = opened;
      return error(ErrorKind::damaged, "the group is not closed");
    }
    return branches;
  }

  Result<ExpressionId> parse_atom() {
    const char c = peek();
    if (c == '[') return grammar_.chars(ETCH_TRY(parse_class()));
    if (take(".")) return grammar_.chars(complement(line_ends()));
    if (c == '*' || c == '+' || c == '?' || at_count())
      return error(ErrorKind::damaged, "there is nothing in front of '{}' to repeat", c);
    if (c == '\\') return grammar_.chars(ETCH_TRY(parse_escape(false)));
    const Utf8Char code = decode_utf8(text_, at_);
    at_ += static_cast<size_t>(code.bytes);
    std::string text;
    append_utf8(text, code.code);
    return grammar_.text(text);
  }

  // {n} {n,} {n,m}; any other { is a plain character, as in browsers.
  bool at_count() const {
    if (peek() != '{') return false;
    size_t i = 1;
    const auto skip_digits = [&] {
      const size_t start = i;
      while (peek(i) >= '0' && peek(i) <= '9') ++i;
      return i > start;
    };
    if (!skip_digits()) return false;
    if (peek(i) == ',') ++i, skip_digits();
    return peek(i) == '}';
  }

  Result<int64_t> parse_number() {
    int64_t n = 0;
    while (peek() >= '0' && peek() <= '9') {
      n = n * 10 + (text_[at_++] - '0');
      if (n > kMaxCount)
        return error(ErrorKind::unsupported, "at most {} repetitions can be asked for", kMaxCount);
    }
    return n;
  }

  Result<ExpressionId> parse_counts(ExpressionId item) {
    int64_t least = 0, most = -1;
    if (take("*")) {
    } else if (take("+")) {
      least = 1;
    } else if (take("?")) {
      most = 1;
    } else if (at_count()) {
      ++at_;
      least = most = ETCH_TRY(parse_number());
      if (take(",")) most = peek() == '}' ? -1 : ETCH_TRY(parse_number());
      if (most >= 0 && most < least)
        return error(ErrorKind::damaged, "at most {} is less than at least {}", most, least);
      ++at_;
    } else {
      return item;
    }
    if (take("+")) return error(ErrorKind::unsupported, "possessive repetition cannot be enforced");
    take("?");  // a lazy one accepts the same texts
    if (peek() == '*' || peek() == '+' || peek() == '?' || at_count())
      return error(ErrorKind::damaged, "a repetition is repeated; a group in between says so");
    return grammar_.repeat(item, least, most);
  }

  Result<uint32_t> parse_hex(int digits) {
    uint32_t code = 0;
    for (int i = 0; i < digits; ++i, ++at_) {
      const char d = peek();
      const int value = d >= '0' && d <= '9'   ? d - '0'
                        : d >= 'a' && d <= 'f' ? d - 'a' + 10
                        : d >= 'A' && d <= 'F' ? d - 'A' + 10
                                               : -1;
      if (value < 0) return error(ErrorKind::damaged, "expected a hexadecimal digit");
      code = code << 4 | static_cast<uint32_t>(value);
    }
    return code;
  }

  Result<CharSet> parse_escape(bool in_class) {
    const size_t start = at_++;
    const char c = peek();
    const auto one = [](uint32_t code) { return CharSet{{code, code}}; };
    if (at_ >= text_.size()) return error(ErrorKind::damaged, "a '\\' ends the pattern");
    ++at_;
    switch (c) {
      case 'd':
        return digits();
      case 'D':
        return complement(digits());
      case 'w':
        return word();
      case 'W':
        return complement(word());
      case 's':
        return space();
      case 'S':
        return complement(space());
      case 't':
        return one('\t');
      case 'n':
        return one('\n');
      case 'r':
        return one('\r');
      case 'f':
        return one('\f');
      case 'v':
        return one('\v');
      case '0':
        if (peek() >= '0' && peek() <= '9') break;
        return one(0);
      case 'c':
        if ((peek() | 0x20) < 'a' || (peek() | 0x20) > 'z') break;
        return one(static_cast<uint32_t>(text_[at_++] & 0x1F));
      case 'x':
        return one(ETCH_TRY(parse_hex(2)));
      case 'u':
        return parse_unicode_escape(start);
      case 'p':
      case 'P': {
        const size_t close = text_.find('}', at_);
        if (!take("{") || close == text_.npos)
          return error(ErrorKind::damaged, "expected {{name}} behind \\{}", c);
        std::string_view name = text_.substr(at_, close - at_);
        for (const std::string_view key : {"gc=", "General_Category="}) {
          if (name.starts_with(key)) name.remove_prefix(key.size());
        }
        const auto set = category(name);
        if (!set) {
          return error(ErrorKind::unsupported,
                       "the property {} is not known; general categories are (L, Lu, Nd, ...)",
                       quote(name));
        }
        at_ = close + 1;
        return c == 'p' ? *set : complement(*set);
      }
      case 'b':
        if (in_class) return one('\b');
        [[fallthrough]];
      case 'B':
        at_ = start;
        return error(ErrorKind::unsupported, "word boundaries (\\b, \\B) cannot be enforced");
      default:
        break;
    }
    at_ = start;
    if (c == 'k' || (c >= '1' && c <= '9'))
      return error(ErrorKind::unsupported, "back-references cannot be enforced");
    const bool is_sign = static_cast<unsigned char>(c) > 0x20 &&
                         static_cast<unsigned char>(c) < 0x7F &&
                         !((c | 0x20) >= 'a' && (c | 0x20) <= 'z') && !(c >= '0' && c <= '9');
    if (!is_sign)
      return error(ErrorKind::damaged, "there is no escape {}", quote(text_.substr(start, 2)));
    at_ += 2;
    return one(static_cast<uint32_t>(c));
  }

  // \uHHHH, a pair of surrogates written so, or \u{H...}.
  Result<CharSet> parse_unicode_escape(size_t start) {
    uint32_t code = 0;
    if (take("{")) {
      const size_t close = text_.find('}', at_);
      if (close == text_.npos || close == at_ || close - at_ > 6)
        return error(ErrorKind::damaged, "expected 1 to 6 hexadecimal digits and '}}'");
      code = ETCH_TRY(parse_hex(static_cast<int>(close - at_)));
      ++at_;
    } else {
      code = ETCH_TRY(parse_hex(4));
      if (code >= 0xD800 && code <= 0xDBFF && take("\\u")) {
        const uint32_t low = ETCH_TRY(parse_hex(4));
        code = low >= 0xDC00 && low <= 0xDFFF ? 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
                                              : 0xD800;
      }
    }
    if (code > kMaxCodePoint || (code >= 0xD800 && code <= 0xDFFF)) {
      at_ = start;
      return error(ErrorKind::damaged, "U+{:04X} is no character", code);
    }
    return CharSet{{code, code}};
  }

  Result<CharSet> parse_class_atom() {
    if (peek() == '\\') return parse_escape(true);
    if (peek() == '[' && peek(1) == ':')
      return error(ErrorKind::unsupported, "classes like [:alpha:] are not known; \\p{{L}} is");
    const Utf8Char c = decode_utf8(text_, at_);
    at_ += static_cast<size_t>(c.bytes);
    return CharSet{{c.code, c.code}};
  }

  Result<CharSet> parse_class() {
    const size_t opened = at_++;
    const bool negated = take("^");
    CharSet set;
    while (peek() != ']') {
      if (at_ >= text_.size()) {
        at_ = opened;
        return error(ErrorKind::damaged, "the class is not closed");
      }
      const size_t start = at_;
      const CharSet low = ETCH_TRY(parse_class_atom());
      if (peek() != '-' || peek(1) == ']' || at_ + 1 >= text_.size()) {
        set.insert(set.end(), low.begin(), low.end());
        continue;
      }
      ++at_;
      const CharSet high = ETCH_TRY(parse_class_atom());
      const auto is_one = [](const CharSet& s) { return s.size() == 1 && s[0].low == s[0].high; };
      if (!is_one(low) || !is_one(high) || low[0].low > high[0].low) {
        at_ = start;
        return error(ErrorKind::damaged, "a range goes from one character up to another");
      }
      set.push_back({low[0].low, high[0].low});
    }
    ++at_;
    set = make_char_set(std::move(set));
    return negated ? complement(set) : set;
  }

  Grammar& grammar_;
  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Result<ExpressionId> add_regex(Grammar& grammar, std::string_view pattern, bool is_search) {
  auto branches = ETCH_TRY(RegexParser(grammar, pattern).parse());
  std::vector<ExpressionId> parts;
  for (Branch& b : branches) {
    const auto anything = [&] { return grammar.repeat(grammar.chars(all_chars()), 0, -1); };
    if (is_search && !b.from_start) b.items.insert(b.items.begin(), anything());
    if (is_search && !b.to_end) b.items.push_back(anything());
    parts.push_back(grammar.sequence(std::move(b.items)));
  }
  return grammar.choice(std::move(parts));
}

Result<Grammar> parse_regex(std::string_view pattern) {
  Grammar grammar;
  const ExpressionId body = ETCH_TRY(add_regex(grammar, pattern, false));
  grammar.root = grammar.add_rule("root", body);
  return grammar;
}

}  // namespace etch
