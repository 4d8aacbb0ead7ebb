// UTF-8 as the Unicode standard has it: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace etch {

// Bytes of the character at the front, 1 to 4; 0 if it is not a whole valid one (or text is empty).
int utf8_length(std::string_view text);
bool is_utf8(std::string_view text);

// A text out of a file, for a message or a terminal: in single quotes, what does not print as \n,
// \x1b ... , what is not UTF-8 byte by byte; cut after about max_bytes, with "..." behind it.
std::string quote(std::string_view text, int64_t max_bytes = 80);

}  // namespace etch
