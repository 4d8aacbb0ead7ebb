// def and flow, and the statements in them.
#include "circuit/parser.h"

namespace etch {

void Parser::def() {
  const size_t began = pos_;
  Def d;
  d.at = next().at;
  if (!def_after_word(d)) {
    skip_statement(began);
    skip_to_section();
    return;
  }
  d.at = since(d.at);
  circuit_.defs.push_back(std::move(d));
}

bool Parser::def_after_word(Def& d) {
  if (!name(d.name, "def") || !expect("(", "def")) return false;
  const std::string in = fmt::format("the parameters of {}", d.name.text);
  if (!take(")") && !comma_list(")", in, [&] { return name(d.parameters.emplace_back(), in); }))
    return false;
  if (take("=")) {
    d.is_expression = true;
    return expression(d.results.emplace_back()) && end_statement("def");
  }
  bool returned = false;
  const std::string block_of = fmt::format("def {}", d.name.text);
  const bool ok = block(block_of, [&] {
    if (returned) return error(peek().at, "nothing may stand behind return");
    if (!is("return")) return statement(d.body);
    next();
    returned = true;
    do {
      if (!expression(d.results.emplace_back())) return false;
    } while (take_here(","));
    return end_statement("return");
  });
  if (ok && !returned) error(d.name.at, fmt::format("def {} returns nothing", d.name.text));
  return ok;
}

void Parser::flow() {
  const size_t began = pos_;
  Flow f;
  f.at = next().at;
  if (!flow_after_word(f)) {
    skip_statement(began);
    skip_to_section();
    return;
  }
  f.at = since(f.at);
  for (const Flow& before : circuit_.flows)
    if (before.name.text == f.name.text)
      error(f.name.at,
            f.name.text.empty()
                ? fmt::format("the main flow is already defined at line {}", before.at.line)
                : fmt::format("'{}' is already defined at line {}", f.name.text, before.at.line));
  circuit_.flows.push_back(std::move(f));
}

bool Parser::flow_after_word(Flow& f) {
  f.name.at = f.at;
  if (!is("(") && !name(f.name, "flow")) return false;
  if (!expect("(", "flow")) return false;
  if (!comma_list(")", "the inputs of the flow",
                  [&] { return name(f.inputs.emplace_back(), "the inputs of the flow"); }))
    return false;
  if (take_here("->")) {
    do {
      FlowOutput& o = f.outputs.emplace_back();
      if (!name(o.name, "the outputs of the flow")) return false;
      o.maybe = take_here("?");
    } while (take_here(","));
  }
  return block("flow", [&] { return statement(f.body); });
}

bool Parser::statement(std::vector<Statement>& out) {
  Statement s;
  s.at = peek().at;
  if (!statement_of(s)) return false;
  s.at = since(s.at);
  out.push_back(std::move(s));
  return true;
}

bool Parser::statement_of(Statement& s) {
  if (take("each")) {
    s.kind = Statement::Kind::each;
    if (!name(s.variable, "each") || !expect("in", "each") || !range(s.range)) return false;
    return block("each", [&] { return statement(s.body); });
  }
  if (is("if")) return branch(s);
  if (is("append") && is("(", 1)) {
    s.kind = Statement::Kind::append;
    return expression(s.value) && end_statement("append");
  }
  do {
    if (!name(s.targets.emplace_back(), "a statement")) return false;
  } while (take_here(","));
  if (!expect("=", "an assignment")) return false;
  return expression(s.value) && end_statement("an assignment");
}

bool Parser::branch(Statement& s) {
  next();
  s.kind = Statement::Kind::branch;
  if (!expression(s.value)) return false;
  if (!block("if", [&] { return statement(s.body); })) return false;
  if (!take("else")) return true;
  s.has_else = true;
  if (!is("if")) return block("else", [&] { return statement(s.otherwise); });
  if (++depth_ > kMaxDepth) {
    error(peek().at, "conditions are nested too deeply");
    --depth_;
    return false;
  }
  Statement inner;
  inner.at = peek().at;
  const bool ok = branch(inner);
  --depth_;
  if (!ok) return false;
  inner.at = since(inner.at);
  s.otherwise.push_back(std::move(inner));
  return true;
}

}  // namespace etch
