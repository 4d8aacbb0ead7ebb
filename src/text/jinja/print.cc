#include "text/jinja/print.h"

#include <utf8proc.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "text/jinja/callable.h"
#include "text/utf8.h"

namespace etch::jinja {

namespace {

// Where bytes of a text are written as something else, the mark goes with them.
template <class Write>
void append_escaped(MarkedText& out, const MarkedText& text, const Write& write) {
  size_t range = 0;
  std::string piece;
  for (size_t at = 0; at < text.text.size();) {
    const Utf8Char c = decode_utf8(text.text, at);
    while (range < text.outside.size() && text.outside[range].end <= static_cast<int64_t>(at))
      ++range;
    const bool outside =
        range < text.outside.size() && text.outside[range].begin <= static_cast<int64_t>(at);
    piece.clear();
    write(piece, c.code, std::string_view(text.text).substr(at, c.bytes));
    out.append(piece, outside);
    at += c.bytes;
  }
}

// What Python's repr escapes: controls, separators other than the space, unassigned and private
// characters.
bool is_printable(uint32_t code) {
  if (code == ' ') return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    default:
      return true;
  }
}

void repr_text(MarkedText& out, const MarkedText& text) {
  const bool has_single = text.text.find('\'') != std::string::npos;
  const bool has_double = text.text.find('"') != std::string::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  out.append(std::string_view(&quote, 1), false);
  append_escaped(out, text, [quote](std::string& piece, uint32_t code, std::string_view bytes) {
    if (code == '\\' || code == static_cast<uint32_t>(quote)) {
      piece += '\\';
      piece += static_cast<char>(code);
    } else if (code == '\n') {
      piece += "\\n";
    } else if (code == '\t') {
      piece += "\\t";
    } else if (code == '\r') {
      piece += "\\r";
    } else if (is_printable(code)) {
      piece += bytes;
    } else if (code < 0x100) {
      piece += fmt::format("\\x{:02x}", code);
    } else if (code < 0x10000) {
      piece += fmt::format("\\u{:04x}", code);
    } else {
      piece += fmt::format("\\U{:08x}", code);
    }
  });
  out.append(std::string_view(&quote, 1), false);
}

void repr_items(MarkedText& out, const std::vector<Value>& items) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out.append(", ", false);
    out.append(print_repr(items[i]));
  }
}

}  // namespace

std::string print_real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific).ptr;
  // Shortest digits "d.ddde-XX"; Python writes them out from 1e-4 up to below 1e16.
  const std::string_view written(buffer, static_cast<size_t>(end - buffer));
  const size_t e = written.find('e');
  int exponent = 0;
  std::from_chars(written.data() + e + (written[e + 1] == '+' ? 2 : 1), end, exponent);
  if (exponent >= -4 && exponent < 16) {
    char fixed[64];
    const auto fixed_end =
        std::to_chars(fixed, fixed + sizeof(fixed), value, std::chars_format::fixed).ptr;
    std::string text(fixed, fixed_end);
    if (text.find('.') == std::string::npos) text += ".0";
    return text;
  }
  return fmt::format("{}e{}{:02}", written.substr(0, e), exponent < 0 ? "-" : "+",
                     std::abs(exponent));
}

MarkedText print_repr(const Value& value) {
  MarkedText out;
  switch (value.type()) {
    case Type::absent:
    case Type::undefined:
      out.append("Undefined", false);
      break;
    case Type::none:
      out.append("None", false);
      break;
    case Type::boolean:
      out.append(value.as_boolean() ? "True" : "False", false);
      break;
    case Type::integer:
      out.append(fmt::format("{}", value.as_integer()), false);
      break;
    case Type::real:
      out.append(print_real(value.as_real()), false);
      break;
    case Type::text:
      repr_text(out, value.marked());
      break;
    case Type::list:
      out.append("[", false);
      repr_items(out, value.items());
      out.append("]", false);
      break;
    case Type::view:
      out.append("dict_items([", false);
      repr_items(out, value.items());
      out.append("])", false);
      break;
    case Type::range: {
      const auto& items = value.items();
      const int64_t start = items.empty() ? 0 : items.front().as_integer();
      const int64_t step = items.size() < 2 ? 1 : items[1].as_integer() - start;
      const int64_t stop = items.empty() ? 0 : items.back().as_integer() + (step > 0 ? 1 : -1);
      out.append(step == 1 ? fmt::format("range({}, {})", start, stop)
                           : fmt::format("range({}, {}, {})", start, stop, step),
                 false);
      break;
    }
    case Type::tuple:
      out.append("(", false);
      repr_items(out, value.items());
      out.append(value.items().size() == 1 ? ",)" : ")", false);
      break;
    case Type::dict: {
      out.append("{", false);
      bool first = true;
      for (const auto& [key, item] : value.as_dict().entries) {
        if (!first) out.append(", ", false);
        first = false;
        out.append(print_repr(key));
        out.append(": ", false);
        out.append(print_repr(item));
      }
      out.append("}", false);
      break;
    }
    case Type::lazy:
      out.append("<generator object>", false);
      break;
    case Type::space:
      out.append("<Namespace>", false);
      break;
    case Type::callable:
      out.append(fmt::format("<{}>", value.as_callable().python_name()), false);
      break;
  }
  return out;
}

MarkedText print_str(const Value& value) {
  if (value.is(Type::text)) return value.marked();
  if (value.is(Type::undefined) || value.is(Type::absent)) return {};
  return print_repr(value);
}

namespace {

class JsonWriter {
 public:
  explicit JsonWriter(const JsonStyle& style) : style_(style) {}
  MarkedText out;

  Status write(const Value& value, int level) {
    switch (value.type()) {
      case Type::none:
        own("null");
        return {};
      case Type::boolean:
        own(value.as_boolean() ? "true" : "false");
        return {};
      case Type::integer:
        own(fmt::format("{}", value.as_integer()));
        return {};
      case Type::real:
        own(number(value.as_real()));
        return {};
      case Type::text:
        write_text(value.marked());
        return {};
      case Type::list:
      case Type::tuple:
        return write_items(value.items(), level);
      case Type::dict:
        return write_dict(value.as_dict(), level);
      default:
        return fail(ErrorKind::damaged, "{}", python_name(value.type()));
    }
  }

 private:
  void own(std::string_view text) { out.append(text, false); }

  static std::string number(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    return print_real(value);
  }

  void new_line(int level) {
    if (!style_.has_indent) return;
    own("\n");
    for (int i = 0; i < level; ++i) own(style_.indent);
  }

  Status write_items(const std::vector<Value>& items, int level) {
    if (items.empty()) {
      own("[]");
      return {};
    }
    own("[");
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) own(style_.item_separator);
      new_line(level + 1);
      ETCH_TRY(write(items[i], level + 1));
    }
    new_line(level);
    own("]");
    return {};
  }

  Status write_dict(const Dict& dict, int level) {
    if (dict.entries.empty()) {
      own("{}");
      return {};
    }
    std::vector<const std::pair<Value, Value>*> entries;
    for (const auto& entry : dict.entries) entries.push_back(&entry);
    if (style_.sort_keys) {
      std::stable_sort(entries.begin(), entries.end(), [](const auto* a, const auto* b) {
        return print_str(a->first).text < print_str(b->first).text;
      });
    }
    own("{");
    bool first = true;
    for (const auto* entry : entries) {
      if (!first) own(style_.item_separator);
      first = false;
      new_line(level + 1);
      ETCH_TRY(write_key(entry->first));
      own(style_.key_separator);
      ETCH_TRY(write(entry->second, level + 1));
    }
    new_line(level);
    own("}");
    return {};
  }

  Status write_key(const Value& key) {
    switch (key.type()) {
      case Type::text:
        write_text(key.marked());
        return {};
      case Type::none:
        own("\"null\"");
        return {};
      case Type::boolean:
        own(key.as_boolean() ? "\"true\"" : "\"false\"");
        return {};
      case Type::integer:
      case Type::real:
        own(fmt::format("\"{}\"", print_str(key).text));
        return {};
      default:
        return fail(ErrorKind::damaged, "{}", python_name(key.type()));
    }
  }

  void write_text(const MarkedText& text) {
    own("\"");
    append_escaped(out, text, [this](std::string& piece, uint32_t code, std::string_view bytes) {
      switch (code) {
        case '"':
          piece += "\\\"";
          return;
        case '\\':
          piece += "\\\\";
          return;
        case '\n':
          piece += "\\n";
          return;
        case '\r':
          piece += "\\r";
          return;
        case '\t':
          piece += "\\t";
          return;
        case '\b':
          piece += "\\b";
          return;
        case '\f':
          piece += "\\f";
          return;
        default:
          break;
      }
      if (code < 0x20 || (style_.ensure_ascii && code >= 0x7F && code < 0x10000)) {
        piece += code == 0x7F ? std::string("\x7F") : fmt::format("\\u{:04x}", code);
      } else if (style_.ensure_ascii && code >= 0x10000) {
        const uint32_t high = 0xD800 + ((code - 0x10000) >> 10),
                       low = 0xDC00 + ((code - 0x10000) & 0x3FF);
        piece += fmt::format("\\u{:04x}\\u{:04x}", high, low);
      } else {
        piece += bytes;
      }
    });
    own("\"");
  }

  const JsonStyle& style_;
};

}  // namespace

Result<MarkedText> print_json(const Value& value, const JsonStyle& style) {
  JsonWriter writer(style);
  ETCH_TRY(writer.write(value, 0));
  return std::move(writer.out);
}

}  // namespace etch::jinja
