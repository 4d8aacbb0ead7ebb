// Python's text functions as filters and methods share them. Results keep the marks of the bytes
// they are cut from; where characters are rewritten, the whole result counts as outside if any of
// the source does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/marked_text.h"

namespace etch::jinja {

bool is_python_space(uint32_t code);
MarkedText rewritten(const MarkedText& source, std::string text);

// Without `chars` (null) white space goes.
MarkedText strip(const MarkedText& text, const std::string* chars, bool left, bool right);
std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string capitalize(std::string_view text);    // the first letter upper, all others lower
std::string title_method(std::string_view text);  // after any character that is no letter
std::string title_filter(std::string_view text);  // after white space and - ( { [ <
MarkedText replace(const MarkedText& text, const std::string& old, const MarkedText& with,
                   int64_t count);  // < 0: all
std::vector<MarkedText> split(const MarkedText& text, const std::string* separator, int64_t most,
                              bool from_right);
std::vector<MarkedText> split_lines(const MarkedText& text, bool keep_ends);
int64_t count_characters(std::string_view text);
MarkedText indent(const MarkedText& text, const std::string& by, bool first, bool blank);
MarkedText escape_html(const MarkedText& text);  // & < > " '
// The time in C's strftime format, English names.
std::string format_time(std::string_view format, int64_t seconds);

}  // namespace etch::jinja
