// Layout of printed C: the lines that clang-format would make of it with the Google style at 100
// columns, so that a formatter leaves the text as it is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace etch {

constexpr size_t kColumns = 100;

// "NAME(a, b, ...)" with as many arguments on a line as fit, the others below the first.
struct CallText {
  std::string name;
  std::vector<std::string> arguments;
};
std::string lay_out_call(const CallText& call, size_t indent, std::string_view end);

// A comment of whole words, "// " before every line; lines after the first are `hang` deeper.
std::string lay_out_comment(std::string_view text, size_t indent, size_t hang = 0);

// Lines with trailing comments, all in one column: "code;  // comment". Where one becomes too long
// for that, a formatter is told to leave them.
struct CommentedLine {
  std::string code, comment;
};
std::string lay_out_lines(const std::vector<CommentedLine>& lines, size_t indent);

}  // namespace etch
