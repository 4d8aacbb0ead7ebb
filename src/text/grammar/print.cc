// A Grammar as GBNF.
#include "text/grammar/grammar.h"
#include "text/utf8.h"

namespace etch {

namespace {

using Kind = Expression::Kind;

std::string escaped(uint32_t code, std::string_view special) {
  switch (code) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
  }
  if (code < 0x20 || code == 0x7F) return fmt::format("\\x{:02X}", code);
  std::string c;
  append_utf8(c, code);
  return code < 0x80 && special.find(static_cast<char>(code)) != special.npos ? "\\" + c : c;
}

// '-' and '^' have no escape with a backslash: their numbers are written.
std::string in_class(uint32_t code) {
  return code == '-' || code == '^' ? fmt::format("\\x{:02X}", code) : escaped(code, "\\[]");
}

std::string print_chars(const CharSet& set) {
  if (set == all_chars()) return ".";
  const bool negated = !set.empty() && set.back().high == kMaxCodePoint;
  std::string text = negated ? "[^" : "[";
  for (const CharRange r : negated ? complement(set) : set) {
    text += in_class(r.low);
    if (r.high > r.low) text += (r.high > r.low + 1 ? "-" : "") + in_class(r.high);
  }
  return text + "]";
}

std::string print_text(std::string_view text) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    out += escaped(c.code, "\\\"");
    at += static_cast<size_t>(c.bytes);
  }
  return out + "\"";
}

std::string print_expression(const Grammar& grammar, ExpressionId id, int binding);

std::string joined(const Grammar& grammar, const Expression& e, std::string_view between,
                   int binding) {
  std::string text;
  for (const ExpressionId part : e.parts) {
    if (!text.empty()) text += between;
    text += print_expression(grammar, part, binding);
  }
  return text;
}

std::string print_count(const Expression& e) {
  if (e.least == 0 && e.most < 0) return "*";
  if (e.least == 1 && e.most < 0) return "+";
  if (e.least == 0 && e.most == 1) return "?";
  if (e.least == e.most) return fmt::format("{{{}}}", e.least);
  return e.most < 0 ? fmt::format("{{{},}}", e.least) : fmt::format("{{{},{}}}", e.least, e.most);
}

// binding: 0 alternatives may stand here as they are, 1 a sequence, 2 only one item.
std::string print_expression(const Grammar& grammar, ExpressionId id, int binding) {
  const Expression& e = grammar.at(id);
  const auto grouped = [&](bool needed, const std::string& text) {
    return needed ? "(" + text + ")" : text;
  };
  switch (e.kind) {
    case Kind::text:
      return print_text(e.text);
    case Kind::chars:
      return print_chars(e.chars);
    case Kind::sequence:
      return grouped(binding > 1, joined(grammar, e, " ", 2));
    case Kind::choice:
      return grouped(binding > 0, joined(grammar, e, " | ", 1));
    case Kind::repeat:
      return grouped(binding > 1, print_expression(grammar, e.parts.front(), 2) + print_count(e));
    case Kind::rule:
      return grammar.rules[static_cast<size_t>(e.index)].name;
    case Kind::token:
      return (e.negated ? "!" : "") + (e.text.empty() ? fmt::format("<[{}]>", e.index) : e.text);
    case Kind::machine:
      return fmt::format("<{}machine, {} states>", e.json_escaped ? "string " : "",
                         grammar.machines[static_cast<size_t>(e.index)].states.size());
    case Kind::graph:
      return fmt::format("<graph, {} nodes>",
                         grammar.graphs[static_cast<size_t>(e.index)].final.size());
  }
  return "";
}

}  // namespace

std::string print(const Grammar& grammar) {
  std::string text;
  for (const GrammarRule& rule : grammar.rules) {
    if (rule.body < 0) continue;
    text += fmt::format("{} ::= {}\n", rule.name, print_expression(grammar, rule.body, 0));
  }
  return text;
}

}  // namespace etch
