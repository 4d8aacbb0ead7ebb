#include "text/jinja/text_functions.h"

#include <algorithm>

#include "text/utf8.h"

namespace etch::jinja {

namespace {

using Cut = std::pair<size_t, size_t>;  // [begin of what goes, end of it)

// Where the separator stands, searched from either end.
std::vector<Cut> separators_in(const std::string& s, const std::string& separator,
                               bool from_right) {
  std::vector<Cut> cuts;
  if (!from_right) {
    for (size_t found, at = 0; (found = s.find(separator, at)) != std::string::npos;
         at = found + separator.size()) {
      cuts.emplace_back(found, found + separator.size());
    }
    return cuts;
  }
  for (size_t found, end = s.size();
       end >= separator.size() &&
       (found = s.rfind(separator, end - separator.size())) != std::string::npos;) {
    cuts.emplace_back(found, found + separator.size());
    end = found;
    if (end < separator.size()) break;
  }
  std::reverse(cuts.begin(), cuts.end());
  return cuts;
}

// Runs of white space.
std::vector<Cut> spaces_in(std::string_view s) {
  std::vector<Cut> cuts;
  for (size_t at = 0; at < s.size();) {
    const Utf8Char c = decode_utf8(s, at);
    if (is_python_space(c.code)) {
      if (!cuts.empty() && cuts.back().second == at) {
        cuts.back().second += c.bytes;
      } else {
        cuts.emplace_back(at, at + c.bytes);
      }
    }
    at += c.bytes;
  }
  return cuts;
}

}  // namespace

std::vector<MarkedText> split(const MarkedText& text, const std::string* separator, int64_t most,
                              bool from_right) {
  const std::string& s = text.text;
  std::vector<Cut> cuts = separator ? separators_in(s, *separator, from_right) : spaces_in(s);
  size_t first = 0, last = s.size();
  if (!separator) {
    if (!cuts.empty() && cuts.front().first == 0)
      first = cuts.front().second, cuts.erase(cuts.begin());
    if (!cuts.empty() && cuts.back().second == s.size()) {
      // With all cuts used up the rest keeps its trailing white space.
      if (most < 0 || static_cast<int64_t>(cuts.size()) <= most) last = cuts.back().first;
      if (from_right) last = cuts.back().first;
      cuts.pop_back();
    }
    if (first >= last) return {};
  }
  if (most >= 0 && static_cast<int64_t>(cuts.size()) > most) {
    if (from_right) {
      cuts.erase(cuts.begin(), cuts.end() - most);
    } else {
      cuts.resize(static_cast<size_t>(most));
    }
  }
  std::vector<MarkedText> parts;
  size_t at = first;
  for (const auto& [begin, end] : cuts) {
    parts.push_back(text.slice(static_cast<int64_t>(at), static_cast<int64_t>(begin)));
    at = end;
  }
  parts.push_back(text.slice(static_cast<int64_t>(at), static_cast<int64_t>(last)));
  return parts;
}

std::vector<MarkedText> split_lines(const MarkedText& text, bool keep_ends) {
  std::vector<MarkedText> lines;
  const std::string& s = text.text;
  size_t begin = 0;
  for (size_t at = 0; at < s.size();) {
    const Utf8Char c = decode_utf8(s, at);
    size_t end = at + static_cast<size_t>(c.bytes);
    const bool breaks = (c.code >= 10 && c.code <= 13) || (c.code >= 0x1C && c.code <= 0x1E) ||
                        c.code == 0x85 || c.code == 0x2028 || c.code == 0x2029;
    if (breaks) {
      if (c.code == '\r' && end < s.size() && s[end] == '\n') ++end;
      lines.push_back(
          text.slice(static_cast<int64_t>(begin), static_cast<int64_t>(keep_ends ? end : at)));
      begin = end;
    }
    at = end;
  }
  if (begin < s.size())
    lines.push_back(text.slice(static_cast<int64_t>(begin), static_cast<int64_t>(s.size())));
  return lines;
}

}  // namespace etch::jinja
