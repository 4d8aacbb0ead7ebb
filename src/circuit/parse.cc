// A circuit's text, section by section. A syntax error ends its statement; the parser goes on with
// the next one, so that all of them are reported together.
#include <charconv>

#include "circuit/parser.h"

namespace etch {
namespace {

constexpr size_t kMaxText = 1 << 20;  // a circuit is about a page

}  // namespace

const Parser::Section* Parser::section(std::string_view word) {
  static constexpr Section kSections[] = {
      {"dims", &Parser::dims, true},      {"parts", &Parser::parts, true},
      {"state", &Parser::states, true},   {"def", &Parser::def, false},
      {"flow", &Parser::flow, false},     {"ignore", &Parser::ignore, true},
      {"import", &Parser::import, false},
  };
  for (const Section& s : kSections)
    if (s.word == word) return &s;
  return nullptr;
}

void Parser::run() {
  if (!header()) return;
  bool other_than_dims = false;
  std::string_view first_other;
  while (!at_end()) {
    const Token section = peek();
    statement_ = pos_;
    unclosed_ = false;
    const std::string_view word = section.kind == Token::Kind::name ? section.text : "";
    if (word == "dims" && other_than_dims)
      diagnostics_.error(section.at, fmt::format("dims must come before {}", first_other));
    if (word != "dims" && !other_than_dims) other_than_dims = true, first_other = word;
    once(section);
    if (const Section* found = Parser::section(word)) {
      (this->*found->parse)();
    } else {
      error(section.at, "expected a section here: dims, parts, state, def, flow, ignore or import");
      next();
      skip_to_section();
    }
  }
  if (circuit_.flow("") == nullptr && !diagnostics_.has_errors())
    diagnostics_.error(circuit_.name.at, "a circuit needs a flow");
}

bool Parser::header() {
  if (!expect("circuit", "the first line")) return false;
  if (!name(circuit_.name, "the first line")) return false;
  const Token& t = peek();
  const auto [end, e] =
      std::from_chars(t.text.data(), t.text.data() + t.text.size(), circuit_.revision);
  if (t.kind != Token::Kind::number || e != std::errc() || end != t.text.data() + t.text.size())
    return error(here(), "expected the circuit's revision here, a whole number");
  next();
  if (!end_statement("the first line")) return false;
  const size_t began = pos_;
  if (!expect("match", "the circuit; it says which files the circuit is for")) return false;
  if (!expression(circuit_.match) || !end_statement("match")) skip_statement(began);
  return true;
}

// Every section but def, flow and import stands once.
void Parser::once(const Token& word) {
  const Section* s = section(word.text);
  for (const Token& before : sections_)
    if (s != nullptr && s->once && before.text == word.text)
      error(word.at, fmt::format("{} stands already at line {}", word.text, before.at.line));
  sections_.push_back(word);
}

void Parser::section_block(std::string_view in, const std::function<bool()>& statement) {
  if (!block(in, statement)) skip_to_section();
}

Result<Circuit> parse_circuit(std::string text, std::string file) {
  if (text.size() > kMaxText)
    return fail(ErrorKind::usage, "{}: a circuit of {} bytes; the most is {}", file, text.size(),
                kMaxText);
  Circuit circuit;
  circuit.file = std::move(file);
  circuit.text = std::move(text);
  Diagnostics diagnostics(circuit.file, circuit.text);
  Parser(circuit, lex(circuit.text, diagnostics), diagnostics).run();
  ETCH_TRY(diagnostics.status());
  return circuit;
}

}  // namespace etch
