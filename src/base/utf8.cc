#include "base/utf8.h"

#include <fmt/core.h>

#include <cstring>

namespace etch {

int utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = at(0);
  if (first < 0x80) return 1;
  const int length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < static_cast<size_t>(length)) return 0;
  for (int i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = at(1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90)) return 0;  // overlong
  if ((first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f))
    return 0;  // surrogates, too large
  return length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    uint64_t word;  // ASCII eight bytes at a time: whole files come through here
    if (text.size() >= sizeof word) {
      std::memcpy(&word, text.data(), sizeof word);
      if ((word & 0x8080808080808080u) == 0) {
        text.remove_prefix(sizeof word);
        continue;
      }
    }
    const int length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string quote(std::string_view text, int64_t max_bytes) {
  std::string out = "'";
  const size_t whole = text.size();
  while (!text.empty()) {
    if (static_cast<int64_t>(whole - text.size()) >= max_bytes) return out + "...'";
    const int length = utf8_length(text);
    const auto c = static_cast<unsigned char>(text[0]);
    // C1 controls (U+0080 to U+009F, second byte below 0xa0) act on terminals too.
    const bool control = c < 0x20 || c == 0x7f ||
                         (c == 0xc2 && length == 2 && static_cast<unsigned char>(text[1]) < 0xa0);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\'' || c == '\\') {
      out += {'\\', static_cast<char>(c)};
    } else if (length == 0 || control) {
      for (int i = 0; i < std::max(length, 1); ++i)
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max(length, 1));
  }
  return out + "'";
}

}  // namespace etch
