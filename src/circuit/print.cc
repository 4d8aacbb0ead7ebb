#include "circuit/ast.h"

namespace etch {
namespace {

constexpr std::string_view kSpellings[] = {
    "+", "-", "*", "/", "%", "^", "==", "!=", "<", "<=", ">", ">=", "in", "and", "or"};

class Printer {
 public:
  std::string out;

  void circuit(const Circuit& c) {
    line("circuit {} {}", c.name.text, c.revision);
    line("match {}", text(*c.match));
    if (!c.dims.empty()) {
      open("\ndims");
      for (const DimEntry& e : c.dims) dim(e);
      close();
    }
    if (!c.parts.empty()) {
      open("\nparts");
      for (const PartItem& i : c.parts) part_item(i);
      close();
    }
    if (!c.states.empty()) {
      open("\nstate");
      for (const StateEntry& s : c.states)
        line("{}[{} in {}{}] = {}", s.name.text, s.variable.text, text(s.range),
             s.where ? " where " + text(*s.where) : "", text(*s.value));
      close();
    }
    for (const Def& d : c.defs) def(d);
    for (const Flow& f : c.flows) flow(f);
    if (!c.ignores.empty()) {
      open("\nignore");
      for (const Ignore& i : c.ignores)
        line("{} \"{}\"{}", i.is_key ? "key" : "tensor", i.pattern,
             i.variable ? fmt::format(" for {} in {}", i.variable->text, text(i.range)) : "");
      close();
    }
    for (const Import& i : c.imports) {
      open(fmt::format("\nimport {}", names(i.architectures)));
      for (const ImportEntry& e : i.entries)
        line("{} = {}", e.is_key ? fmt::format("\"{}\"", e.target.text) : e.target.text,
             text(*e.value));
      close();
    }
  }

  static std::string text(const Expr& e) {
    const std::string s = bare(e);
    return e.parenthesised ? "(" + s + ")" : s;
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    out.append(static_cast<size_t>(indent_) * 2, ' ');
    out += fmt::format(format, std::forward<Args>(args)...);
    out += '\n';
  }
  void open(std::string_view head) {
    if (!head.empty() && head.front() == '\n') out += '\n', head.remove_prefix(1);
    line("{} {{", head);
    ++indent_;
  }
  void close() {
    --indent_;
    line("}}");
  }

  static std::string text(const Range& r) { return text(*r.first) + ".." + text(*r.last); }
  static std::string names(const std::vector<Name>& names) {
    std::string s;
    for (const Name& n : names) s += (s.empty() ? "" : ", ") + n.text;
    return s;
  }
  static std::string list(const std::vector<ExprPtr>& exprs) {
    std::string s;
    for (const ExprPtr& e : exprs) s += (s.empty() ? "" : ", ") + text(*e);
    return s;
  }

  void dim(const DimEntry& e) {
    if (e.kind == DimEntry::Kind::require) return line("require {}", list(e.conditions));
    line("{}{} = {}", e.name.text, e.parameter ? "(" + e.parameter->text + ")" : "",
         text(*e.value));
  }

  void part_item(const PartItem& i) {
    switch (i.kind) {
      case PartItem::Kind::part:
        return line("{}", part(i.part));
      case PartItem::Kind::pack:
        open("pack " + i.name.text);
        break;
      case PartItem::Kind::branch:
        open("if " + text(*i.condition));
        break;
      case PartItem::Kind::each:
        open(fmt::format("each {} in {}{}{}", i.name.text, text(i.range),
                         i.condition ? " where " + text(*i.condition) : "",
                         i.optional ? " optional" : ""));
    }
    for (const PartItem& inner : i.items) part_item(inner);
    if (i.has_else) {
      --indent_;
      open("} else");
      for (const PartItem& inner : i.otherwise) part_item(inner);
    }
    close();
  }

  static std::string part(const Part& p) {
    std::string s = fmt::format("{} [{}]", p.name.text, list(p.shape));
    if (p.bias != BiasRule::none) s += p.bias == BiasRule::perhaps ? " bias?" : " bias";
    if (p.optional) s += " optional";
    if (p.otherwise) s += " else " + p.otherwise->text;
    if (p.otherwise_index) s += fmt::format("[{}]", text(*p.otherwise_index));
    for (size_t i = 0; i < p.as.size(); ++i)
      s += fmt::format("{}\"{}\"", i == 0 ? " as " : ", ", p.as[i]);
    if (p.or_each) s += fmt::format(" or_each \"{}\"", *p.or_each);
    if (!p.stored.empty()) s += fmt::format(" stored [{}]", list(p.stored));
    if (!p.role.empty()) s += " role " + p.role;
    return s;
  }

  void def(const Def& d) {
    const std::string head = fmt::format("def {}({})", d.name.text, names(d.parameters));
    out += '\n';
    if (d.is_expression) return line("{} = {}", head, text(*d.results[0]));
    open(head);
    for (const Statement& s : d.body) statement(s);
    line("return {}", list(d.results));
    close();
  }

  void flow(const Flow& f) {
    std::string head =
        fmt::format("flow{}{}({})", f.name.text.empty() ? "" : " ", f.name.text, names(f.inputs));
    for (size_t i = 0; i < f.outputs.size(); ++i)
      head += fmt::format("{}{}{}", i == 0 ? " -> " : ", ", f.outputs[i].name.text,
                          f.outputs[i].maybe ? "?" : "");
    out += '\n';
    open(head);
    for (const Statement& s : f.body) statement(s);
    close();
  }

  void statement(const Statement& s) {
    switch (s.kind) {
      case Statement::Kind::assign:
        return line("{} = {}", names(s.targets), text(*s.value));
      case Statement::Kind::append:
        return line("{}", text(*s.value));
      case Statement::Kind::each:
        open(fmt::format("each {} in {}", s.variable.text, text(s.range)));
        break;
      case Statement::Kind::branch:
        open("if " + text(*s.value));
        break;
    }
    for (const Statement& inner : s.body) statement(inner);
    if (s.has_else) {
      --indent_;
      if (s.otherwise.size() == 1 && s.otherwise[0].kind == Statement::Kind::branch) {
        out.append(static_cast<size_t>(indent_) * 2, ' ');
        out += "} else ";
        const size_t at = out.size();
        statement(s.otherwise[0]);  // prints its own indent, which belongs before "} else"
        out.erase(at, static_cast<size_t>(indent_) * 2);
        return;
      }
      open("} else");
      for (const Statement& inner : s.otherwise) statement(inner);
    }
    close();
  }

  static std::string bare(const Expr& e) {
    const auto operand = [&](size_t i) { return text(*e.operands[i]); };
    switch (e.kind) {
      case Expr::Kind::number:
      case Expr::Kind::symbol:
      case Expr::Kind::name:
        return e.text;
      case Expr::Kind::text:
        return fmt::format("\"{}\"", e.text);
      case Expr::Kind::truth:
        return e.truth ? "true" : "false";
      case Expr::Kind::none:
        return "none";
      case Expr::Kind::call: {
        std::string s;
        for (const Argument& a : e.arguments)
          s += (s.empty() ? "" : ", ") + (a.attribute.empty() ? "" : a.attribute + ": ") +
               text(*a.value);
        return fmt::format("{}({})", e.text, s);
      }
      case Expr::Kind::list:
        return fmt::format("[{}]", list(e.operands));
      case Expr::Kind::each_list:
        return fmt::format("[{} for {} in {}..{}]", operand(0), e.variable.text, operand(1),
                           operand(2));
      case Expr::Kind::index:
        return fmt::format("{}[{}]", operand(0), operand(1));
      case Expr::Kind::slice:
        return fmt::format("{}[{}..{}]", operand(0), operand(1), operand(2));
      case Expr::Kind::negate:
        return "-" + operand(0);
      case Expr::Kind::not_:
        return "not " + operand(0);
      case Expr::Kind::binary: {
        const bool tight = e.binary == BinaryOp::pow;
        return fmt::format("{}{}{}{}{}", operand(0), tight ? "" : " ", spelling(e.binary),
                           tight ? "" : " ", operand(1));
      }
      case Expr::Kind::conditional:
        return fmt::format("{} ? {} : {}", operand(0), operand(1), operand(2));
      case Expr::Kind::otherwise:
        return fmt::format("{} else {}", operand(0), operand(1));
      case Expr::Kind::mix:
        return fmt::format("mix {}{} in {} {{ {} }}", e.variable.text,
                           e.weight.text.empty() ? "" : ", " + e.weight.text, operand(0),
                           operand(1));
    }
    return "";
  }

  int indent_ = 0;
};

}  // namespace

std::string_view spelling(BinaryOp op) { return kSpellings[static_cast<int>(op)]; }

std::string print(const Circuit& circuit) {
  Printer p;
  p.circuit(circuit);
  return std::move(p.out);
}

std::string print(const Expr& expr) { return Printer::text(expr); }

}  // namespace etch
