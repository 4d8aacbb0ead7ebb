#include "text/jinja/text_functions.h"

#include <utf8proc.h>

#include <algorithm>

#include "text/utf8.h"

namespace etch::jinja {

bool is_python_space(uint32_t code) {
  if (code < 0x80) return (code >= 9 && code <= 13) || (code >= 0x1C && code <= 0x20);
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return code == 0x85 || category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

MarkedText rewritten(const MarkedText& source, std::string text) {
  MarkedText out;
  out.append(text, !source.outside.empty());
  return out;
}

MarkedText strip(const MarkedText& text, const std::string* chars, bool left, bool right) {
  const auto goes = [&](uint32_t code, std::string_view bytes) {
    return chars ? chars->find(bytes) != std::string::npos : is_python_space(code);
  };
  const std::string& s = text.text;
  size_t begin = 0, end = s.size();
  while (left && begin < end) {
    const Utf8Char c = decode_utf8(s, begin);
    if (!goes(c.code, std::string_view(s).substr(begin, c.bytes))) break;
    begin += c.bytes;
  }
  while (right && end > begin) {
    size_t at = end - 1;
    while (at > begin && (static_cast<uint8_t>(s[at]) & 0xC0) == 0x80) --at;
    const Utf8Char c = decode_utf8(s, at);
    if (!goes(c.code, std::string_view(s).substr(at, end - at))) break;
    end = at;
  }
  return text.slice(static_cast<int64_t>(begin), static_cast<int64_t>(end));
}

MarkedText replace(const MarkedText& text, const std::string& old, const MarkedText& with,
                   int64_t count) {
  MarkedText out;
  size_t at = 0;
  const std::string& s = text.text;
  const auto copy = [&](size_t begin, size_t end) {
    out.append(text.slice(static_cast<int64_t>(begin), static_cast<int64_t>(end)));
  };
  if (old.empty()) {  // between all characters, and at both ends
    while (count != 0) {
      out.append(with);
      --count;
      if (at == s.size()) return out;
      const size_t next = at + static_cast<size_t>(decode_utf8(s, at).bytes);
      copy(at, next);
      at = next;
    }
  } else {
    for (size_t found; count != 0 && (found = s.find(old, at)) != std::string::npos; --count) {
      copy(at, found);
      out.append(with);
      at = found + old.size();
    }
  }
  copy(at, s.size());
  return out;
}

int64_t count_characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; });
}

MarkedText indent(const MarkedText& text, const std::string& by, bool first, bool blank) {
  MarkedText out;
  MarkedText with_end = text;
  with_end.append("\n", false);  // so that an ending newline gives an empty last line
  const std::vector<MarkedText> lines = split_lines(with_end, false);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out.append("\n", false);
    if ((i > 0 || first) && (blank || !lines[i].text.empty() || i == 0)) out.append(by, false);
    out.append(lines[i]);
  }
  return out;
}

MarkedText escape_html(const MarkedText& text) {
  MarkedText out;
  const std::string& s = text.text;
  for (size_t at = 0; at < s.size();) {
    const size_t found = std::min(s.find_first_of("&<>\"'", at), s.size());
    out.append(text.slice(static_cast<int64_t>(at), static_cast<int64_t>(found)));
    if (found == s.size()) break;
    const char c = s[found];
    const bool outside =
        text.is_outside(static_cast<int64_t>(found), static_cast<int64_t>(found) + 1);
    out.append(c == '&'   ? "&amp;"
               : c == '<' ? "&lt;"
               : c == '>' ? "&gt;"
               : c == '"' ? "&#34;"
                          : "&#39;",
               outside);
    at = found + 1;
  }
  return out;
}

}  // namespace etch::jinja
