#include "cli/render.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/utf8.h"

namespace etch::cli {

Status put(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
    return {};
  if (errno == EPIPE) return tl::unexpected(Error{ErrorKind::resources, ""});
  return fail(ErrorKind::resources, "cannot write to standard output: {}", std::strerror(errno));
}

Status put_json(const nlohmann::ordered_json& json) {
  return put(json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

bool is_terminal(std::FILE* stream) { return isatty(fileno(stream)) == 1; }

bool has_colour(std::FILE* stream) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return is_terminal(stream) && !(no_colour && *no_colour) && term &&
         std::string_view(term) != "dumb";
}

std::string coloured(std::string_view text, Colour colour, std::FILE* stream) {
  constexpr std::string_view kCodes[] = {"", "\x1b[1;31m", "\x1b[1;33m", "\x1b[1m", "\x1b[2m"};
  if (colour == Colour::none || !has_colour(stream)) return std::string(text);
  return fmt::format("{}{}\x1b[0m", kCodes[static_cast<size_t>(colour)], text);
}

namespace {

void print_message(std::string_view kind, Colour colour, std::string_view message) {
  std::fflush(stdout);
  fmt::print(stderr, "{}: {}\n", coloured(kind, colour, stderr), message);
}

}  // namespace

void print_error(const Error& error) {
  if (!error.message.empty()) print_message("error", Colour::red, error.message);
}
void print_warning(std::string_view message) { print_message("warning", Colour::yellow, message); }
void print_note(std::string_view message) { print_message("note", Colour::bold, message); }

Progress::Progress(std::string_view what, int64_t total)
    : what_(what), total_(total), start_(std::chrono::steady_clock::now()), last_(start_) {}

void Progress::update(int64_t done) {
  using namespace std::chrono_literals;
  const auto now = std::chrono::steady_clock::now();
  if (now - start_ < 1s || now - last_ < 100ms || !is_terminal(stderr)) return;
  last_ = now;
  shown_ = true;
  fmt::print(stderr, "\r{} {} of {} ({} %)\x1b[K", what_, done, total_,
             total_ > 0 ? 100 * done / total_ : 100);
  std::fflush(stderr);
}

Progress::~Progress() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

std::string table(const std::vector<std::vector<std::string>>& rows, std::string_view alignment) {
  const auto width =
      [](std::string_view s) {  // characters; wide ones are rare in what is printed here
        return std::count_if(s.begin(), s.end(), [](char c) { return (c & 0xc0) != 0x80; });
      };
  std::vector<int64_t> widths(alignment.size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max<int64_t>(widths[i], width(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const auto pad = static_cast<size_t>(widths[i] - width(row[i]));
      if (i > 0) line += "  ";
      if (alignment[i] == 'r') line.append(pad, ' ');
      line += row[i];
      if (alignment[i] != 'r') line.append(pad, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string human_bytes(int64_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double v = static_cast<double>(bytes);
  int unit = 0;
  for (; v >= 1024 && unit < 4; ++unit) v /= 1024;
  return fmt::format("{:.{}f} {}", v, v < 10 ? 2 : v < 100 ? 1 : 0, kUnits[unit]);
}

std::string human_count(int64_t n) {
  if (n < 100'000) return fmt::format("{}", n);
  const double v = static_cast<double>(n);
  return n < 1'000'000'000 ? fmt::format("{:.1f} M", v / 1e6) : fmt::format("{:.2f} B", v / 1e9);
}

}  // namespace etch::cli
