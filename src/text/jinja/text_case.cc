#include "text/jinja/text_functions.h"

#include <utf8proc.h>

#include "text/utf8.h"

namespace etch::jinja {
namespace {

bool is_cased_letter(uint32_t code) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
         category == UTF8PROC_CATEGORY_LT;
}

void append_upper(std::string& out, uint32_t code, bool title) {
  if (code == 0xDF) {
    out += title ? "Ss" : "SS";
  } else {
    const auto c = static_cast<utf8proc_int32_t>(code);
    append_utf8(out, static_cast<uint32_t>(title ? utf8proc_totitle(c) : utf8proc_toupper(c)));
  }
}

void append_lower(std::string& out, uint32_t code) {
  append_utf8(out, static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code))));
}

// For each character: is it the first of a word?
template <class StartsWord>
std::string title(std::string_view text, const StartsWord& starts_word) {
  std::string out;
  uint32_t before = ' ';
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    if (starts_word(before)) {
      append_upper(out, c.code, true);
    } else {
      append_lower(out, c.code);
    }
    before = c.code;
    at += c.bytes;
  }
  return out;
}

}  // namespace

std::string upper(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    append_upper(out, c.code, false);
    at += c.bytes;
  }
  return out;
}

std::string lower(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    append_lower(out, c.code);
    at += c.bytes;
  }
  return out;
}

std::string capitalize(std::string_view text) {
  if (text.empty()) return {};
  const Utf8Char first = decode_utf8(text, 0);
  std::string out;
  append_upper(out, first.code, true);
  return out + lower(text.substr(first.bytes));
}

std::string title_method(std::string_view text) {
  return title(text, [](uint32_t before) { return !is_cased_letter(before); });
}

std::string title_filter(std::string_view text) {
  return title(text, [](uint32_t before) {
    return is_python_space(before) || before == '-' || before == '(' || before == '{' ||
           before == '[' || before == '<';
  });
}

}  // namespace etch::jinja
