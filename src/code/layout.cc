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

// Writes `item` from `column` on; `behind` columns must stay free after it. Gives the new column.
size_t put(const Item& item, size_t column, size_t behind, std::string& out) {
  if (!item.is_call || column + width(item.flat()) + behind <= kColumns) {
    out += item.flat();
    return column + width(item.flat());
  }
  out += item.text + "(";
  column += width(item.text) + 1;
  const size_t first = column;
  for (size_t i = 0; i < item.items.size(); ++i) {
    const Item& next = item.items[i];
    const bool last = i + 1 == item.items.size();
    const size_t after = last ? behind + 1 : 1;  // ")..." or ","
    if (i > 0) {
      if (column + 1 + width(next.flat()) + after <= kColumns) {
        out += ' ';
        ++column;
      } else {
        out += '\n' + std::string(first, ' ');
        column = first;
      }
    }
    column = put(next, column, after, out);
    out += last ? ')' : ',';
    ++column;
  }
  return column;
}

}  // namespace

std::string Item::flat() const {
  if (!is_call) return text;
  std::string all = text + "(";
  for (size_t i = 0; i < items.size(); ++i) all += (i == 0 ? "" : ", ") + items[i].flat();
  return all + ")";
}

std::string lay_out_call(const Item& call, size_t indent, std::string_view end) {
  std::string out(indent, ' ');
  put(call, indent, width(end), out);
  return out + std::string(end) + "\n";
}

std::string lay_out_comment(std::string_view text, size_t indent, size_t hang) {
  std::string out;
  std::string line = std::string(indent, ' ') + "//";
  bool first_word = true;
  while (!text.empty()) {
    const size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    if (word.empty()) {  // two spaces stay two
      line += ' ';
      continue;
    }
    if (!first_word && width(line) + 1 + width(word) > kColumns) {
      out += line + "\n";
      line = std::string(indent, ' ') + "//" + std::string(hang, ' ');
    }
    line += ' ';
    line += word;
    first_word = false;
  }
  return out + line + "\n";
}

std::string lay_out_lines(const std::vector<CommentedLine>& lines, size_t indent) {
  size_t longest = 0;
  for (const CommentedLine& l : lines) longest = std::max(longest, width(l.code));
  std::string out;
  for (const CommentedLine& l : lines) {
    out += std::string(indent, ' ') + l.code;
    if (!l.comment.empty())
      out += std::string(longest - width(l.code) + 2, ' ') + "// " + l.comment;
    out += '\n';
  }
  return out;
}

}  // namespace etch
