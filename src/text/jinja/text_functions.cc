#include "text/jinja/text_functions.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>

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

std::vector<MarkedText> split(const MarkedText& text, const std::string* separator, int64_t most,
                              bool from_right) {
  // Places where the text is cut: [begin of what goes, end of it).
  std::vector<std::pair<size_t, size_t>> cuts;
  const std::string& s = text.text;
  size_t first = 0, last = s.size();
  if (separator) {
    if (from_right) {
      for (size_t found, end = s.size();
           end >= separator->size() &&
           (found = s.rfind(*separator, end - separator->size())) != std::string::npos;) {
        cuts.emplace_back(found, found + separator->size());
        end = found;
        if (end < separator->size()) break;
      }
      std::reverse(cuts.begin(), cuts.end());
    } else {
      for (size_t found, at = 0; (found = s.find(*separator, at)) != std::string::npos;
           at = found + separator->size()) {
        cuts.emplace_back(found, found + separator->size());
      }
    }
  } else {
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

std::string format_time(std::string_view format, int64_t seconds) {
  constexpr std::string_view months[] = {"January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December"};
  constexpr std::string_view weekdays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                           "Thursday", "Friday", "Saturday"};
  int64_t days = seconds / 86400, rest = seconds % 86400;
  if (rest < 0) rest += 86400, --days;
  // Days since 1970 to a date of the Gregorian calendar, counted in eras of 400 years from March
  // on.
  const int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097,
                day_of_era = z - era * 146097;
  const int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t m = (5 * day_of_year + 2) / 153, day = day_of_year - (153 * m + 2) / 5 + 1;
  const int64_t month = m < 10 ? m + 3 : m - 9, year = year_of_era + era * 400 + (month <= 2);
  const int64_t weekday = ((days + 4) % 7 + 7) % 7;
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  constexpr int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  const int64_t day_number = before[month - 1] + day + (leap && month > 2);
  const int64_t hour = rest / 3600, minute = rest / 60 % 60, second = rest % 60,
                hour12 = hour % 12 == 0 ? 12 : hour % 12;

  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out += format[i];
      continue;
    }
    bool padded = true;
    if (format[i + 1] == '-' && i + 2 < format.size()) padded = false, ++i;
    const auto two = [&](int64_t v) {
      return padded ? fmt::format("{:02}", v) : fmt::format("{}", v);
    };
    switch (const char c = format[++i]) {
      case 'Y':
        out += fmt::format("{}", year);
        break;
      case 'y':
        out += two(((year % 100) + 100) % 100);
        break;
      case 'm':
        out += two(month);
        break;
      case 'd':
        out += two(day);
        break;
      case 'e':
        out += padded ? fmt::format("{:2}", day) : fmt::format("{}", day);
        break;
      case 'H':
        out += two(hour);
        break;
      case 'I':
        out += two(hour12);
        break;
      case 'M':
        out += two(minute);
        break;
      case 'S':
        out += two(second);
        break;
      case 'p':
        out += hour < 12 ? "AM" : "PM";
        break;
      case 'j':
        out += padded ? fmt::format("{:03}", day_number) : fmt::format("{}", day_number);
        break;
      case 'B':
        out += months[month - 1];
        break;
      case 'b':
      case 'h':
        out += months[month - 1].substr(0, 3);
        break;
      case 'A':
        out += weekdays[weekday];
        break;
      case 'a':
        out += weekdays[weekday].substr(0, 3);
        break;
      case 'w':
        out += fmt::format("{}", weekday);
        break;
      case 'u':
        out += fmt::format("{}", weekday == 0 ? 7 : weekday);
        break;
      case 'F':
        out += format_time("%Y-%m-%d", seconds);
        break;
      case 'T':
        out += format_time("%H:%M:%S", seconds);
        break;
      case 'R':
        out += format_time("%H:%M", seconds);
        break;
      case 'D':
        out += format_time("%m/%d/%y", seconds);
        break;
      case 'c':
        out += format_time("%a %b %e %H:%M:%S %Y", seconds);
        break;
      case 's':
        out += fmt::format("{}", seconds);
        break;
      case 'Z':
        break;  // a naive time, as Python's datetime.now()
      case 'z':
        break;
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case '%':
        out += '%';
        break;
      default:
        out += '%', out += c;
        break;
    }
  }
  return out;
}

}  // namespace etch::jinja
