#include "code/layout.h"

#include <algorithm>

namespace etch {
namespace {

// Columns, not bytes: UTF-8 continuation bytes take none.
size_t width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

std::string lay_out_call(const CallText& call, size_t indent, std::string_view end) {
  std::string out = std::string(indent, ' ') + call.name + "(";
  const size_t first = indent + width(call.name) + 1;
  size_t column = first;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const std::string& next = call.arguments[i];
    const bool last = i + 1 == call.arguments.size();
    const size_t after = last ? 1 + width(end) : 1;  // ")..." or ","
    if (i > 0 && column + 1 + width(next) + after <= kColumns) {
      out += ' ';
      ++column;
    } else if (i > 0) {
      out += '\n' + std::string(first, ' ');
      column = first;
    }
    out += next + (last ? ")" : ",");
    column += width(next) + 1;
  }
  return out + std::string(end) + "\n";
}

std::string lay_out_comment(std::string_view text, size_t indent, size_t hang) {
  std::string out;
  std::string line = std::string(indent, ' ') + "//";
  size_t spaces = 1;  // before the next word
  bool first_word = true;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) {
      ++spaces;
      continue;
    }
    if (!first_word && width(line) + spaces + width(word) > kColumns) {
      out += line + "\n";
      line = std::string(indent, ' ') + "//" + std::string(hang, ' ');
      spaces = 1;
    }
    line += std::string(spaces, ' ');
    line += word;
    spaces = 1;
    first_word = false;
  }
  return out + line + "\n";
}

std::string lay_out_lines(const std::vector<CommentedLine>& lines, size_t indent) {
  size_t longest = 0;
  for (const CommentedLine& l : lines) longest = std::max(longest, width(l.code));
  const bool fits = std::all_of(lines.begin(), lines.end(), [&](const CommentedLine& l) {
    return indent + longest + std::string_view("  // ").size() + width(l.comment) <= kColumns;
  });
  const std::string margin(indent, ' ');
  std::string out;
  if (!fits) out += margin + "// clang-format off\n";
  for (const CommentedLine& l : lines) {
    out += std::string(indent, ' ') + l.code;
    if (!l.comment.empty())
      out += std::string(longest - width(l.code) + 2, ' ') + "// " + l.comment;
    out += '\n';
  }
  if (!fits) out += margin + "// clang-format on\n";
  return out;
}

}  // namespace etch
