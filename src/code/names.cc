#include "code/names.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>

namespace etch {
namespace {

constexpr std::string_view kWords[] = {
    "auto",     "break",     "case",   "char",     "const",    "continue", "default",  "do",
    "double",   "else",      "enum",   "extern",   "float",    "for",      "goto",     "if",
    "inline",   "int",       "long",   "register", "restrict", "return",   "short",    "signed",
    "sizeof",   "static",    "struct", "switch",   "typedef",  "union",    "unsigned", "void",
    "volatile", "while",     "main",   "w",        "l",        "at",       "weight",   "constant",
    "layers",   "constants", "decode", "prefill",  "states",   "model"};

bool starts_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool continues_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Sums and products of dims and whole numbers. Its text is the same with C's spaces.
class Reader {
 public:
  Reader(std::string_view text, const Names& names) : text_(text), names_(names) {}

  std::optional<int64_t> read(std::string& spaced) {
    const auto value = sum();
    skip();
    if (!value || at_ != text_.size()) return std::nullopt;
    spaced = std::move(out_);
    return value;
  }

 private:
  using Value = std::optional<int64_t>;

  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  Value sum() {
    Value left = product();
    while (left && (peek() == '+' || peek() == '-')) left = apply(*left, &Reader::product);
    return left;
  }
  Value product() {
    Value left = factor();
    while (left && (peek() == '*' || peek() == '/')) left = apply(*left, &Reader::factor);
    return left;
  }
  Value apply(int64_t left, Value (Reader::*operand)()) {
    const char op = text_[at_++];
    out_ += {' ', op, ' '};
    const Value right = (this->*operand)();
    int64_t result = 0;
    if (!right) return right;
    switch (op) {
      case '+':
        return __builtin_add_overflow(left, *right, &result) ? Value() : result;
      case '-':
        return __builtin_sub_overflow(left, *right, &result) ? Value() : result;
      case '*':
        return __builtin_mul_overflow(left, *right, &result) ? Value() : result;
      default:
        return *right <= 0 || left % *right != 0 ? Value() : left / *right;
    }
  }
  Value factor() {
    const char c = peek();
    const size_t first = at_;
    if (c == '(') {
      out_ += text_[at_++];
      const Value inner = sum();
      if (!inner || peek() != ')') return std::nullopt;
      out_ += text_[at_++];
      return inner;
    }
    while (at_ < text_.size() && continues_word(text_[at_])) ++at_;
    const std::string_view word = text_.substr(first, at_ - first);
    out_ += word;
    if (starts_word(c)) return names_.dim(word);
    int64_t number = 0;
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
    return problem == std::errc{} && end == word.data() + word.size() ? Value(number) : Value();
  }

  std::string_view text_;
  const Names& names_;
  size_t at_ = 0;
  std::string out_;
};

}  // namespace

bool is_identifier(std::string_view text) {
  return !text.empty() && starts_word(text[0]) &&
         std::all_of(text.begin(), text.end(), continues_word);
}

std::string identifier(std::string_view text) {
  std::string name;
  for (const char c : text) {
    if (continues_word(c)) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  if (name.empty() || !starts_word(name[0])) name.insert(0, "_");
  return name;
}

std::string without_number(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot + 1 == name.size()) return std::string(name);
  const std::string_view tail = name.substr(dot + 1);
  const bool digits = std::all_of(tail.begin(), tail.end(), [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
  return std::string(digits ? name.substr(0, dot) : name);
}

Names::Names(const CodeOptions& options) {
  for (const CodeOptions::Tensor& t : options.tensors) tensors_.emplace(t.offset, &t);
  for (const std::string_view word : kWords) taken_.emplace(word);
  for (const CodeOptions::Dim& d : options.dims) {
    if (!is_identifier(d.name) || taken_.contains(d.name)) continue;
    if (d.value < INT32_MIN || d.value > INT32_MAX) continue;
    dims_.push_back(d);
    taken_.insert(d.name);
  }
  for (const auto& [offset, t] : tensors_) {
    std::string base = identifier(t->part);
    if (t->layer >= 0) base += "_" + std::to_string(t->layer);
    std::string called = base;
    for (int i = 2; taken_.contains(called); ++i) called = base + "_" + std::to_string(i);
    taken_.insert(called);
    globals_.emplace(offset, std::move(called));
  }
}

std::string Names::global_name(const CodeOptions::Tensor& tensor) const {
  return globals_.at(tensor.offset);
}

const CodeOptions::Tensor* Names::tensor_at(int64_t offset) const {
  const auto it = tensors_.find(offset);
  return it == tensors_.end() ? nullptr : it->second;
}

std::optional<int64_t> Names::dim(std::string_view name) const {
  for (const CodeOptions::Dim& d : dims_)
    if (d.name == name) return d.value;
  return std::nullopt;
}

std::optional<std::string> Names::expression(std::string_view text, int64_t value) const {
  std::string spaced;
  // C computes it in int.
  if (value > INT32_MAX / 4 || Reader(text, *this).read(spaced) != value) return std::nullopt;
  return spaced;
}

}  // namespace etch
