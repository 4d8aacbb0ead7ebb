#include "cli/input_text.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "base/file.h"
#include "base/utf8.h"
#include "cli/parser.h"
#include "cli/render.h"

namespace etch::cli {
namespace {
constexpr int64_t kMaxText = int64_t{1} << 30;
}

void add_text_options(Parser& parser, TextFlags& flags) {
  parser.text("-p,--prompt", flags.prompt, "TEXT", "the text");
  parser.text("-f,--file", flags.file, "FILE",
              "file with the text, byte for byte (-: standard input)");
}

Result<std::string> standard_input() {
  if (is_terminal(stdin)) print_note("reading the text from the terminal; Ctrl+D ends it");
  std::string text;
  char buffer[65536];
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, stdin)) > 0;) {
    text.append(buffer, n);
    if (static_cast<int64_t>(text.size()) > kMaxText)
      return fail(ErrorKind::resources, "standard input has more than {} bytes", kMaxText);
  }
  if (std::ferror(stdin))
    return fail(ErrorKind::resources, "cannot read standard input: {}", std::strerror(errno));
  return text;
}

Result<std::optional<std::string>> given_text(const Parser& parser, const TextFlags& flags) {
  if (parser.given("--prompt") && parser.given("--file")) {
    return fail(ErrorKind::usage, "give one of -p and -f");
  }
  if (parser.given("--prompt")) return std::optional(flags.prompt);
  if (!parser.given("--file")) return std::optional<std::string>();
  if (flags.file == "-") return std::optional(ETCH_TRY(standard_input()));
  return std::optional(ETCH_TRY(read_file(flags.file, kMaxText)));
}

Result<std::vector<int32_t>> parse_ids(std::string_view text) {
  std::vector<int32_t> ids;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto is_gap = [](char c) {
    return c == ',' || c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '[' || c == ']';
  };
  while (true) {
    while (at < end && is_gap(*at)) ++at;
    if (at == end) return ids;
    int32_t id = 0;
    const auto [next, problem] = std::from_chars(at, end, id);
    if (problem != std::errc{} || (next < end && !is_gap(*next)) || id < 0) {
      return fail(ErrorKind::usage, "{} is no token id",
                  quote(std::string_view(at, static_cast<size_t>(end - at)), 20));
    }
    ids.push_back(id);
    at = next;
  }
}

}  // namespace etch::cli
