// UTF-8: characters to bytes and back, strictly (no surrogates, no overlong forms, nothing past
// U+10FFFF).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace etch {

struct Utf8Char {
  uint32_t code = 0xFFFD;
  int32_t bytes = 0;  // consumed; 0 only at the end of the text
  bool valid = false;
  bool incomplete = false;  // not valid, but more bytes could make it so
};

// The character at `at`. A broken one has code U+FFFD and covers the bytes that belong together
// (the "maximal subpart" of the Unicode standard: what Python and Rust replace by one U+FFFD).
Utf8Char decode_utf8(std::string_view text, size_t at);

void append_utf8(std::string& out, uint32_t code);

bool is_valid_utf8(std::string_view text);

// Broken bytes become U+FFFD: one for every maximal subpart, or with `each_byte` one for every
// byte.
std::string replace_invalid_utf8(std::string_view text, bool each_byte = false);

// How many bytes at the end of `text` are the start of a character that is not complete (0 to 3).
int64_t incomplete_tail(std::string_view text);

inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
inline constexpr std::string_view kSpaceMark =
    "\xE2\x96\x81";  // U+2581, how SentencePiece writes a space

}  // namespace etch
