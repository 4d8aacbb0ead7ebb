#include "text/normalise.h"

#include <utf8proc.h>

#include <cstdint>
#include <cstdlib>

#include "text/utf8.h"

namespace etch {

namespace {

constexpr int kLongestMarks = 512;

// Characters that are themselves in form C whatever stands around them, unless one outside these
// ranges does.
bool is_settled(uint32_t c) {
  return c < 0x300 || (c >= 0x3041 && c <= 0x3098) || (c >= 0x309B && c <= 0x30FF) ||
         (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x4E00 && c <= 0x9FFF) ||
         (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xFF00 && c <= 0xFFEF) ||
         (c >= 0x2010 && c <= 0x2027) || (c >= 0x3001 && c <= 0x3029) ||
         (c >= 0x1F300 && c <= 0x1FAFF);
}

void append_composed(std::string& out, std::string_view segment) {
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t bytes =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(segment.data()),
                   static_cast<utf8proc_ssize_t>(segment.size()), &made,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  if (bytes < 0) {
    out += segment;
  } else {
    out.append(reinterpret_cast<const char*>(made), static_cast<size_t>(bytes));
  }
  std::free(made);
}

}  // namespace

// ASCII never changes and joins nothing before it, so each stretch of other characters is composed
// by itself, together with the ASCII character in front of it: e + U+0301.
std::string to_nfc(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  size_t at = 0;
  while (at < text.size()) {
    size_t other = at;
    while (other < text.size() && static_cast<uint8_t>(text[other]) < 0x80) ++other;
    if (other == text.size()) {
      out.append(text, at, std::string_view::npos);
      break;
    }
    const size_t begin = other > at ? other - 1 : other;
    out.append(text, at, begin - at);
    size_t end = other;
    bool settled = true;
    int marks = 0, longest = 0;
    while (end < text.size() && static_cast<uint8_t>(text[end]) >= 0x80) {
      const Utf8Char c = decode_utf8(text, end);
      if (!is_settled(c.code)) {
        settled = false;
        marks = utf8proc_get_property(static_cast<utf8proc_int32_t>(c.code))->combining_class != 0
                    ? marks + 1
                    : 0;
        longest = marks > longest ? marks : longest;
      } else {
        marks = 0;
      }
      end += c.bytes;
    }
    const std::string_view segment = text.substr(begin, end - begin);
    if (settled || longest > kLongestMarks) {
      out += segment;
    } else {
      append_composed(out, segment);
    }
    at = end;
  }
  return out;
}

}  // namespace etch
