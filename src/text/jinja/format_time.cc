#include "text/jinja/text_functions.h"

#include <fmt/core.h>

namespace etch::jinja {
namespace {

constexpr std::string_view kMonths[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};
constexpr std::string_view kWeekdays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                          "Thursday", "Friday", "Saturday"};

struct CivilTime {
  int64_t year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  int64_t weekday = 0;     // from Sunday
  int64_t day_number = 0;  // of the year, from 1
};

// Seconds since 1970 as a date and time of the Gregorian calendar.
CivilTime civil_time(int64_t seconds) {
  CivilTime t;
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
  const int64_t m = (5 * day_of_year + 2) / 153;
  t.day = day_of_year - (153 * m + 2) / 5 + 1;
  t.month = m < 10 ? m + 3 : m - 9;
  t.year = year_of_era + era * 400 + (t.month <= 2);
  t.weekday = ((days + 4) % 7 + 7) % 7;
  const bool leap = (t.year % 4 == 0 && t.year % 100 != 0) || t.year % 400 == 0;
  constexpr int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  t.day_number = before[t.month - 1] + t.day + (leap && t.month > 2);
  t.hour = rest / 3600;
  t.minute = rest / 60 % 60;
  t.second = rest % 60;
  return t;
}

}  // namespace

std::string format_time(std::string_view format, int64_t seconds) {
  const CivilTime t = civil_time(seconds);
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
        out += fmt::format("{}", t.year);
        break;
      case 'y':
        out += two(((t.year % 100) + 100) % 100);
        break;
      case 'm':
        out += two(t.month);
        break;
      case 'd':
        out += two(t.day);
        break;
      case 'e':
        out += padded ? fmt::format("{:2}", t.day) : fmt::format("{}", t.day);
        break;
      case 'H':
        out += two(t.hour);
        break;
      case 'I':
        out += two(t.hour % 12 == 0 ? 12 : t.hour % 12);
        break;
      case 'M':
        out += two(t.minute);
        break;
      case 'S':
        out += two(t.second);
        break;
      case 'p':
        out += t.hour < 12 ? "AM" : "PM";
        break;
      case 'j':
        out += padded ? fmt::format("{:03}", t.day_number) : fmt::format("{}", t.day_number);
        break;
      case 'B':
        out += kMonths[t.month - 1];
        break;
      case 'b':
      case 'h':
        out += kMonths[t.month - 1].substr(0, 3);
        break;
      case 'A':
        out += kWeekdays[t.weekday];
        break;
      case 'a':
        out += kWeekdays[t.weekday].substr(0, 3);
        break;
      case 'w':
        out += fmt::format("{}", t.weekday);
        break;
      case 'u':
        out += fmt::format("{}", t.weekday == 0 ? 7 : t.weekday);
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
      case 'z':
        break;  // a naive time, as Python's datetime.now()
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
