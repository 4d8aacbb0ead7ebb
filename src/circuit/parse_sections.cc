// The sections state, ignore and import.
#include "circuit/parser.h"

namespace etch {

void Parser::states() {
  next();
  section_block("state", [&] {
    StateEntry s;
    s.at = peek().at;
    if (!name(s.name, "state") || !expect("[", "state")) return false;
    ++brackets_;
    if (!name(s.variable, "state") || !expect("in", "state") || !range(s.range)) return false;
    if (take("where")) {
      if (!expression(s.where)) return false;
    }
    --brackets_;
    if (!expect("]", "state") || !expect("=", "state")) return false;
    if (!expression(s.value) || !end_statement("state")) return false;
    s.at = since(s.at);
    circuit_.states.push_back(std::move(s));
    return true;
  });
}

void Parser::ignore() {
  next();
  section_block("ignore", [&] {
    Ignore i;
    i.at = peek().at;
    i.is_key = is("key");
    if (!take("key") && !take("tensor"))
      return error(peek().at, "expected 'key' or 'tensor' here, in ignore");
    if (!text(i.pattern, "ignore")) return false;
    if (!i.is_key && take_here("for")) {
      i.variable.emplace();
      if (!name(*i.variable, "ignore") || !expect("in", "ignore") || !range(i.range)) return false;
    }
    i.at = since(i.at);
    const bool more = take_here(",");
    circuit_.ignores.push_back(std::move(i));
    return more || end_statement("ignore");
  });
}

void Parser::import() {
  Import i;
  i.at = next().at;
  do {
    if (!name(i.architectures.emplace_back(), "import")) return skip_to_section();
  } while (take_here(","));
  section_block("import", [&] {
    ImportEntry e;
    e.target.at = peek().at;
    e.is_key = peek().kind == Token::Kind::text;
    if (e.is_key)
      e.target.text = std::string(next().text);
    else if (!name(e.target, "import"))
      return false;
    if (!expect("=", "import")) return false;
    if (!expression(e.value) || !end_statement("import")) return false;
    i.entries.push_back(std::move(e));
    return true;
  });
  i.at = since(i.at);
  circuit_.imports.push_back(std::move(i));
}

}  // namespace etch
