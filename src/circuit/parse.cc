// Recursive descent over the grammar of circuit-language.md section 2. A syntax error ends its
// statement; the parser goes on with the next one, so that all of them are reported together.
#include <charconv>
#include <functional>

#include "circuit/ast.h"
#include "circuit/diagnostics.h"
#include "circuit/lex.h"

namespace etch {
namespace {

constexpr size_t kMaxText = 1 << 20;  // a circuit is about a page
constexpr int kMaxDepth =
    100;  // of expressions and of blocks: everything that walks a tree recurses
constexpr std::string_view kRoles[] = {"query", "key", "value", "out",
                                       "gate",  "up",  "down",  "keep"};

class Parser {
 public:
  Parser(Circuit& circuit, std::vector<Token> tokens, Diagnostics& diagnostics)
      : circuit_(circuit), tokens_(std::move(tokens)), diagnostics_(diagnostics) {}

  void run() {
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
      if (word == "dims")
        dims();
      else if (word == "parts")
        parts();
      else if (word == "state")
        states();
      else if (word == "def")
        def();
      else if (word == "flow")
        flow();
      else if (word == "ignore")
        ignore();
      else if (word == "import")
        import();
      else {
        error(section.at,
              "expected a section here: dims, parts, state, def, flow, ignore or import");
        next();
        skip_to_section();
      }
    }
    if (circuit_.flow("") == nullptr && !diagnostics_.has_errors())
      diagnostics_.error(circuit_.name.at, "a circuit needs a flow");
  }

 private:
  // ---- words ----
  const Token& peek(size_t ahead = 0) const {
    return tokens_[std::min(pos_ + ahead, tokens_.size() - 1)];
  }
  const Token& next() {
    const Token& t = peek();
    if (pos_ + 1 < tokens_.size()) ++pos_;
    return t;
  }
  bool at_end() const { return peek().kind == Token::Kind::end; }
  bool is(std::string_view text, size_t ahead = 0) const {
    const Token& t = peek(ahead);
    return (t.kind == Token::Kind::mark || t.kind == Token::Kind::name) && t.text == text;
  }
  // A word that may go on with a statement: on the same line, or inside a bracket.
  bool continues() const { return brackets_ > 0 || !peek().starts_line; }
  bool is_here(std::string_view text) const { return continues() && is(text); }
  bool take(std::string_view text) {
    if (!is(text)) return false;
    next();
    return true;
  }
  bool take_here(std::string_view text) { return continues() && take(text); }

  void error(const Location& at, std::string message) {
    diagnostics_.error(at, std::move(message));
  }
  // Where a missing word is missed: behind the last one if the line has ended.
  Location here() const {
    if (brackets_ == 0 && peek().starts_line && pos_ > statement_) {
      Location at = tokens_[pos_ - 1].at;
      at.column += at.end - at.begin;
      at.begin = at.end;
      return at;
    }
    return peek().at;
  }
  bool expect(std::string_view text, std::string_view in) {
    if (take(text)) return true;
    error(here(), fmt::format("expected '{}' here, in {}", text, in));
    return false;
  }
  Location since(const Location& first) const {
    Location at = first;
    if (pos_ > 0) at.end = std::max(at.end, tokens_[pos_ - 1].at.end);
    return at;
  }

  // ---- recovery ----
  // On to the next line or the end of the block at this depth.
  void skip_statement(size_t began) {
    int depth = 0;
    brackets_ = 0;
    while (!at_end()) {
      if (depth == 0 && pos_ > began && (peek().starts_line || is("}")) && !is(")") && !is("]"))
        return;
      if (is("{") || is("(") || is("[")) ++depth;
      if ((is("}") || is(")") || is("]")) && depth > 0) --depth;
      if (depth > 0 && pos_ > began && peek().starts_line && starts_section()) return;
      next();
    }
  }
  bool starts_section() const {
    if (peek().kind != Token::Kind::name || peek().at.column != 1) return false;
    for (const std::string_view s : {"dims", "parts", "state", "def", "flow", "ignore", "import"})
      if (peek().text == s) return true;
    return false;
  }
  void skip_to_section() {
    while (!at_end() && !(peek().starts_line && starts_section())) next();
  }

  // Statements between braces. `statement` reports its own error and gives false.
  template <class Parse>
  bool block(std::string_view in, Parse statement) {
    const Location open = peek().at;
    if (!expect("{", in)) return false;
    if (++depth_ > kMaxDepth) {
      error(open, "blocks are nested too deeply");
      --depth_;
      return false;
    }
    const int outer = std::exchange(brackets_, 0);
    bool closed = false;
    while (!at_end()) {
      if (take("}")) {
        closed = true;
        break;
      }
      if (peek().starts_line && starts_section()) break;
      const size_t began = statement_ = pos_;
      if (!statement()) skip_statement(began);
    }
    if (!closed && !std::exchange(unclosed_, true))
      error(open, fmt::format("this brace is never closed, in {}", in));
    brackets_ = outer;
    --depth_;
    return true;
  }
  bool end_statement(std::string_view in) {
    if (peek().starts_line || is("}") || at_end()) return true;
    error(peek().at, fmt::format("expected the end of the line here, in {}", in));
    return false;
  }

  // ---- names ----
  bool name(Name& out, std::string_view in, bool dotted = false) {
    const Token& t = peek();
    if (t.kind != Token::Kind::name) {
      error(here(), fmt::format("expected a name here, in {}", in));
      return false;
    }
    if (is_reserved_word(t.text) || (!dotted && t.text.find('.') != std::string_view::npos)) {
      error(t.at,
            t.text.find('.') != std::string_view::npos
                ? fmt::format(
                      "'{}' cannot be a name: dots belong to names of config.json, in imports",
                      t.text)
                : fmt::format("'{}' is a reserved word and cannot be a name", t.text));
      return false;
    }
    if (symbol_of_name(t.text)) {
      error(t.at, fmt::format("'{}' is a symbol and cannot be a name", t.text));
      return false;
    }
    out = {std::string(t.text), t.at};
    next();
    return true;
  }

  bool text(std::string& out, std::string_view in) {
    if (peek().kind != Token::Kind::text) {
      error(here(), fmt::format("expected a text in quotes here, in {}", in));
      return false;
    }
    out = std::string(next().text);
    return true;
  }

  // ---- sections ----
  bool header() {
    if (!expect("circuit", "the first line")) return false;
    if (!name(circuit_.name, "the first line")) return false;
    const Token& t = peek();
    const auto [end, e] =
        std::from_chars(t.text.data(), t.text.data() + t.text.size(), circuit_.revision);
    if (t.kind != Token::Kind::number || e != std::errc() || end != t.text.data() + t.text.size()) {
      error(here(), "expected the circuit's revision here, a whole number");
      return false;
    }
    next();
    if (!end_statement("the first line")) return false;
    const size_t began = pos_;
    if (!expect("match", "the circuit; it says which files the circuit is for")) return false;
    circuit_.match = expr();
    if (circuit_.match == nullptr || !end_statement("match")) skip_statement(began);
    return true;
  }

  // Every section but def, flow and import stands once.
  void once(const Token& section) {
    for (const std::string_view s : {"dims", "parts", "state", "ignore"})
      for (const Token& before : sections_)
        if (section.text == s && before.text == s)
          error(section.at, fmt::format("{} stands already at line {}", s, before.at.line));
    sections_.push_back(section);
  }

  void section_block(std::string_view in, const std::function<bool()>& statement) {
    if (!block(in, statement)) skip_to_section();
  }

  void dims() {
    next();
    section_block("dims", [&] { return dim(); });
  }

  bool dim() {
    DimEntry e;
    e.at = peek().at;
    if (take("require")) {
      e.kind = DimEntry::Kind::require;
      do {
        ExprPtr c = expr();
        if (c == nullptr) return false;
        e.conditions.push_back(std::move(c));
      } while (take_here(","));
    } else {
      if (!name(e.name, "dims")) return false;
      if (take_here("(")) {
        e.parameter.emplace();
        if (!name(*e.parameter, "the index of a dim") || !expect(")", "the index of a dim"))
          return false;
      }
      if (!expect("=", fmt::format("the definition of {}", e.name.text))) return false;
      e.value = expr();
      if (e.value == nullptr) return false;
    }
    e.at = since(e.at);
    if (!end_statement("dims")) return false;
    circuit_.dims.push_back(std::move(e));
    return true;
  }

  bool range(Range& r) {
    r.first = expr();
    if (r.first == nullptr || !expect("..", "a range")) return false;
    r.last = expr();
    return r.last != nullptr;
  }

  void parts() {
    next();
    section_block("parts", [&] { return part_item(circuit_.parts, false); });
  }

  bool part_item(std::vector<PartItem>& items, bool in_pack) {
    PartItem item;
    item.at = peek().at;
    if (!in_pack && take("pack")) {
      item.kind = PartItem::Kind::pack;
      if (!name(item.name, "pack")) return false;
      if (!block("pack", [&] { return part_item(item.items, true); })) return false;
    } else if (!in_pack && take("if")) {
      item.kind = PartItem::Kind::branch;
      item.condition = expr();
      if (item.condition == nullptr) return false;
      if (!block("if", [&] { return part_item(item.items, false); })) return false;
      if (take("else")) {
        item.has_else = true;
        if (!block("else", [&] { return part_item(item.otherwise, false); })) return false;
      }
    } else if (!in_pack && take("each")) {
      item.kind = PartItem::Kind::each;
      if (!name(item.name, "each") || !expect("in", "each") || !range(item.range)) return false;
      if (take_here("where")) {
        item.condition = expr();
        if (item.condition == nullptr) return false;
      }
      item.optional = take_here("optional");
      if (!block("each", [&] { return part_item(item.items, false); })) return false;
    } else {
      if (!part(item.part)) return false;
      if (!end_statement(fmt::format("the part {}", item.part.name.text))) return false;
    }
    item.at = since(item.at);
    items.push_back(std::move(item));
    return true;
  }

  bool shape(std::vector<ExprPtr>& lengths, std::string_view in) {
    if (!expect("[", in)) return false;
    return comma_list("]", in, [&] {
      lengths.push_back(expr());
      return lengths.back() != nullptr;
    });
  }

  // item {, item} CLOSE, the opening bracket being behind us; at least one.
  template <class Item>
  bool comma_list(std::string_view close, std::string_view in, Item item) {
    ++brackets_;
    do {
      if (!item()) return false;
    } while (take(","));
    --brackets_;
    if (take(close)) return true;
    ++brackets_;
    error(here(), fmt::format("expected ',' or '{}' here, in {}", close, in));
    return false;
  }

  bool part(Part& p) {
    p.at = peek().at;
    if (!name(p.name, "parts")) return false;
    const std::string in = fmt::format("the part {}", p.name.text);
    if (!shape(p.shape, fmt::format("the shape of {}", p.name.text))) return false;
    for (;;) {
      if (take_here("bias"))
        p.bias = BiasRule::present;
      else if (take_here("bias?"))
        p.bias = BiasRule::perhaps;
      else if (take_here("optional"))
        p.optional = true;
      else if (take("else")) {
        p.otherwise.emplace();
        if (!name(*p.otherwise, in)) return false;
        if (take_here("[")) {
          ++brackets_;
          p.otherwise_index = expr();
          --brackets_;
          if (p.otherwise_index == nullptr || !expect("]", in)) return false;
        }
      } else if (take_here("as")) {
        do {
          if (!text(p.as.emplace_back(), in)) return false;
        } while (take_here(","));
      } else if (take_here("or_each")) {
        if (!text(p.or_each.emplace(), in)) return false;
      } else if (take_here("stored")) {
        if (!shape(p.stored, in)) return false;
      } else if (take_here("role")) {
        const Token& t = next();
        for (const std::string_view r : kRoles)
          if (t.text == r) p.role = r;
        if (p.role.empty()) {
          error(t.at, "a role is one of query, key, value, out, gate, up, down, keep");
          return false;
        }
      } else {
        break;
      }
    }
    p.at = since(p.at);
    return true;
  }

  void states() {
    next();
    section_block("state", [&] {
      StateEntry s;
      s.at = peek().at;
      if (!name(s.name, "state") || !expect("[", "state")) return false;
      ++brackets_;
      if (!name(s.variable, "state") || !expect("in", "state") || !range(s.range)) return false;
      if (take("where")) {
        s.where = expr();
        if (s.where == nullptr) return false;
      }
      --brackets_;
      if (!expect("]", "state") || !expect("=", "state")) return false;
      s.value = expr();
      if (s.value == nullptr || !end_statement("state")) return false;
      s.at = since(s.at);
      circuit_.states.push_back(std::move(s));
      return true;
    });
  }

  void def() {
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

  bool def_after_word(Def& d) {
    if (!name(d.name, "def") || !expect("(", "def")) return false;
    const std::string in = fmt::format("the parameters of {}", d.name.text);
    if (!take(")") && !comma_list(")", in, [&] { return name(d.parameters.emplace_back(), in); }))
      return false;
    if (take("=")) {
      d.is_expression = true;
      d.results.push_back(expr());
      return d.results.back() != nullptr && end_statement("def");
    }
    bool returned = false;
    const std::string block_of = fmt::format("def {}", d.name.text);
    const bool ok = block(block_of, [&] {
      if (returned) {
        error(peek().at, "nothing may stand behind return");
        return false;
      }
      if (!is("return")) return statement(d.body);
      next();
      returned = true;
      do {
        ExprPtr e = expr();
        if (e == nullptr) return false;
        d.results.push_back(std::move(e));
      } while (take_here(","));
      return end_statement("return");
    });
    if (ok && !returned) error(d.name.at, fmt::format("def {} returns nothing", d.name.text));
    return ok;
  }

  void flow() {
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

  bool flow_after_word(Flow& f) {
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

  bool statement(std::vector<Statement>& out) {
    Statement s;
    s.at = peek().at;
    if (!statement_of(s)) return false;
    s.at = since(s.at);
    out.push_back(std::move(s));
    return true;
  }

  bool statement_of(Statement& s) {
    if (take("each")) {
      s.kind = Statement::Kind::each;
      if (!name(s.variable, "each") || !expect("in", "each") || !range(s.range)) return false;
      return block("each", [&] { return statement(s.body); });
    }
    if (is("if")) return branch(s);
    if (is("append") && is("(", 1)) {
      s.kind = Statement::Kind::append;
      s.value = expr();
      return s.value != nullptr && end_statement("append");
    }
    do {
      if (!name(s.targets.emplace_back(), "a statement")) return false;
    } while (take_here(","));
    if (!expect("=", "an assignment")) return false;
    s.value = expr();
    return s.value != nullptr && end_statement("an assignment");
  }

  bool branch(Statement& s) {
    next();
    s.kind = Statement::Kind::branch;
    s.value = expr();
    if (s.value == nullptr) return false;
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

  void ignore() {
    next();
    section_block("ignore", [&] {
      Ignore i;
      i.at = peek().at;
      i.is_key = is("key");
      if (!take("key") && !take("tensor")) {
        error(peek().at, "expected 'key' or 'tensor' here, in ignore");
        return false;
      }
      if (!text(i.pattern, "ignore")) return false;
      if (!i.is_key && take_here("for")) {
        i.variable.emplace();
        if (!name(*i.variable, "ignore") || !expect("in", "ignore") || !range(i.range))
          return false;
      }
      i.at = since(i.at);
      const bool more = take_here(",");
      circuit_.ignores.push_back(std::move(i));
      return more || end_statement("ignore");
    });
  }

  void import() {
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
      e.value = expr();
      if (e.value == nullptr || !end_statement("import")) return false;
      i.entries.push_back(std::move(e));
      return true;
    });
    i.at = since(i.at);
    circuit_.imports.push_back(std::move(i));
  }

  // ---- expressions ----
  ExprPtr make(Expr::Kind kind, const Location& at) {
    auto e = std::make_unique<Expr>();
    e->kind = kind;
    e->at = at;
    return e;
  }
  // Takes in a child; too deep a tree is an error.
  bool adopt(Expr& parent, ExprPtr child) {
    if (child == nullptr) return false;
    parent.depth = std::max(parent.depth, child->depth + 1);
    parent.at.end = std::max(parent.at.end, child->at.end);
    parent.operands.push_back(std::move(child));
    if (parent.depth <= kMaxDepth) return true;
    error(parent.at, "this expression is nested too deeply; give a piece of it a name");
    return false;
  }
  ExprPtr joined(BinaryOp op, const Token& word, ExprPtr a, ExprPtr b) {
    if (a == nullptr || b == nullptr) return nullptr;
    ExprPtr e = make(Expr::Kind::binary, word.at);
    e->binary = op;
    const int begin = a->at.begin;
    if (!adopt(*e, std::move(a)) || !adopt(*e, std::move(b))) return nullptr;
    e->at.begin = begin;
    return e;
  }

  ExprPtr expr() {
    if (++depth_ > kMaxDepth) {
      --depth_;
      error(peek().at, "this expression is nested too deeply; give a piece of it a name");
      return nullptr;
    }
    ExprPtr e = condition();
    // `else` may begin the next line; behind a block's brace it is not reached here.
    while (e != nullptr && is("else") && !is("{", 1) && !is("if", 1)) {
      ExprPtr o = make(Expr::Kind::otherwise, e->at);
      next();
      if (!adopt(*o, std::move(e)) || !adopt(*o, condition())) {
        e = nullptr;
        break;
      }
      e = std::move(o);
    }
    --depth_;
    return e;
  }

  ExprPtr condition() {
    ExprPtr e = disjunction();
    if (e == nullptr || !take_here("?")) return e;
    ExprPtr c = make(Expr::Kind::conditional, e->at);
    if (!adopt(*c, std::move(e)) || !adopt(*c, expr())) return nullptr;
    if (!expect(":", "cond ? a : b")) return nullptr;
    if (++depth_ > kMaxDepth) {
      --depth_;
      error(peek().at, "this expression is nested too deeply; give a piece of it a name");
      return nullptr;
    }
    const bool ok = adopt(*c, condition());
    --depth_;
    return ok ? std::move(c) : nullptr;
  }

  ExprPtr disjunction() {
    ExprPtr e = conjunction();
    while (e != nullptr && is_here("or")) {
      const Token word = next();
      e = joined(BinaryOp::or_, word, std::move(e), conjunction());
    }
    return e;
  }
  ExprPtr conjunction() {
    ExprPtr e = negation();
    while (e != nullptr && is_here("and")) {
      const Token word = next();
      e = joined(BinaryOp::and_, word, std::move(e), negation());
    }
    return e;
  }
  ExprPtr negation() {
    if (!is("not")) return relation();
    ExprPtr e = make(Expr::Kind::not_, next().at);
    return adopt(*e, relation()) ? std::move(e) : nullptr;
  }

  ExprPtr relation() {
    static constexpr std::pair<std::string_view, BinaryOp> kRelations[] = {
        {"==", BinaryOp::eq}, {"!=", BinaryOp::ne}, {"<", BinaryOp::lt}, {"<=", BinaryOp::le},
        {">", BinaryOp::gt},  {">=", BinaryOp::ge}, {"in", BinaryOp::in}};
    ExprPtr e = sum();
    for (const auto& [word, op] : kRelations)
      if (e != nullptr && is_here(word)) {
        const Token t = next();
        return joined(op, t, std::move(e), sum());
      }
    return e;
  }
  ExprPtr sum() {
    ExprPtr e = term();
    while (e != nullptr && (is_here("+") || is_here("-"))) {
      const Token word = next();
      e = joined(word.text == "+" ? BinaryOp::add : BinaryOp::sub, word, std::move(e), term());
    }
    return e;
  }
  ExprPtr term() {
    ExprPtr e = unary();
    while (e != nullptr && (is_here("*") || is_here("/") || is_here("%"))) {
      const Token word = next();
      const BinaryOp op = word.text == "*"   ? BinaryOp::mul
                          : word.text == "/" ? BinaryOp::div
                                             : BinaryOp::mod;
      e = joined(op, word, std::move(e), unary());
    }
    return e;
  }
  ExprPtr unary() {
    if (!is("-")) return power();
    ExprPtr e = make(Expr::Kind::negate, next().at);
    return adopt(*e, power()) ? std::move(e) : nullptr;
  }
  ExprPtr power() {
    ExprPtr e = postfix();
    if (e == nullptr || !is_here("^")) return e;
    const Token word = next();
    if (++depth_ > kMaxDepth) {
      --depth_;
      error(word.at, "this expression is nested too deeply; give a piece of it a name");
      return nullptr;
    }
    e = joined(BinaryOp::pow, word, std::move(e), unary());
    --depth_;
    return e;
  }

  ExprPtr postfix() {
    ExprPtr e = atom();
    while (e != nullptr && is_here("[")) {
      next();
      ++brackets_;
      ExprPtr p = make(Expr::Kind::index, e->at);
      if (!adopt(*p, std::move(e)) || !adopt(*p, expr())) return nullptr;
      if (take("..")) {
        p->kind = Expr::Kind::slice;
        if (!adopt(*p, expr())) return nullptr;
      }
      --brackets_;
      if (!expect("]", "an index")) return nullptr;
      p->at = since(p->at);
      e = std::move(p);
    }
    return e;
  }

  ExprPtr atom() {
    const Token& t = peek();
    const bool next_statement = brackets_ == 0 && t.starts_line && is("=", 1);
    if (next_statement) {
      error(here(), "expected a value here");
      return nullptr;
    }
    if (t.kind == Token::Kind::number) return number();
    if (t.kind == Token::Kind::text) {
      ExprPtr e = make(Expr::Kind::text, next().at);
      e->text = std::string(t.text);
      return e;
    }
    if (t.kind == Token::Kind::name) return word();
    if (is("(")) return parenthesised();
    if (is("[")) return list();
    error(here(), at_end() ? "the text ends where a value is expected" : "expected a value here");
    return nullptr;
  }

  ExprPtr number() {
    const Token& t = next();
    ExprPtr e = make(Expr::Kind::number, t.at);
    e->text = std::string(t.text);
    const char* end = t.text.data() + t.text.size();
    const auto whole = std::from_chars(t.text.data(), end, e->integer);
    e->is_integer = whole.ec == std::errc() && whole.ptr == end;
    const auto real = std::from_chars(t.text.data(), end, e->real);
    if (real.ec != std::errc() ||
        (whole.ec == std::errc::result_out_of_range && whole.ptr == end)) {
      error(t.at, "this number is out of range");
      return nullptr;
    }
    return e;
  }

  ExprPtr parenthesised() {
    const Location open = next().at;
    ++brackets_;
    ExprPtr e = expr();
    --brackets_;
    if (e == nullptr || !expect(")", "parentheses")) return nullptr;
    e->parenthesised = true;
    e->at.begin = open.begin;
    e->at.end = since(open).end;
    return e;
  }

  ExprPtr list() {
    ExprPtr e = make(Expr::Kind::list, next().at);
    if (take("]")) {
      e->at = since(e->at);
      return e;
    }
    ++brackets_;
    if (!adopt(*e, expr())) return nullptr;
    if (take("for")) {
      e->kind = Expr::Kind::each_list;
      Range r;
      if (!name(e->variable, "a list") || !expect("in", "a list") || !range(r)) return nullptr;
      if (!adopt(*e, std::move(r.first)) || !adopt(*e, std::move(r.last))) return nullptr;
    }
    while (e->kind == Expr::Kind::list && take(","))
      if (!adopt(*e, expr())) return nullptr;
    --brackets_;
    if (!take("]")) {
      ++brackets_;
      error(here(), "expected ',' or ']' here, in a list");
      return nullptr;
    }
    e->at = since(e->at);
    return e;
  }

  ExprPtr word() {
    const Token& t = peek();
    const bool called = is("(", 1) && (brackets_ > 0 || !peek(1).starts_line);
    if (called && t.text != "not" && t.text != "and" && t.text != "or" && t.text != "in")
      return call();
    if (t.text == "mix") return mix();
    if (t.text == "true" || t.text == "false") {
      ExprPtr e = make(Expr::Kind::truth, next().at);
      e->truth = t.text == "true";
      return e;
    }
    if (t.text == "none") return make(Expr::Kind::none, next().at);
    if (const auto s = symbol_of_name(t.text)) {
      ExprPtr e = make(Expr::Kind::symbol, next().at);
      e->text = std::string(t.text);
      e->symbol = *s;
      return e;
    }
    if (is_reserved_word(t.text)) {
      error(t.at, fmt::format("expected a value here, '{}' is a reserved word", t.text));
      return nullptr;
    }
    ExprPtr e = make(Expr::Kind::name, next().at);
    e->text = std::string(t.text);
    return e;
  }

  ExprPtr call() {
    ExprPtr e = make(Expr::Kind::call, peek().at);
    e->text = std::string(next().text);
    next();  // (
    const std::string in = fmt::format("the arguments of {}", e->text);
    if (!take(")") && !comma_list(")", in, [&] { return argument(*e); })) return nullptr;
    e->at = since(e->at);
    return e;
  }

  bool argument(Expr& call) {
    Argument a;
    a.at = peek().at;
    if (peek().kind == Token::Kind::name && is(":", 1)) {
      a.attribute = std::string(next().text);
      next();
      for (const Argument& before : call.arguments)
        if (before.attribute == a.attribute) {
          error(a.at, fmt::format("'{}' is given twice", a.attribute));
          return false;
        }
    } else if (!call.arguments.empty() && !call.arguments.back().attribute.empty()) {
      error(a.at, "an argument without a name must stand before those with one");
      return false;
    }
    a.value = expr();
    if (a.value == nullptr) return false;
    call.depth = std::max(call.depth, a.value->depth + 1);
    if (call.depth > kMaxDepth) {
      error(call.at, "this expression is nested too deeply; give a piece of it a name");
      return false;
    }
    call.arguments.push_back(std::move(a));
    return true;
  }

  ExprPtr mix() {
    ExprPtr e = make(Expr::Kind::mix, next().at);
    if (!name(e->variable, "mix")) return nullptr;
    if (take(",") && !name(e->weight, "mix")) return nullptr;
    if (!expect("in", "mix") || !adopt(*e, expr()) || !expect("{", "mix")) return nullptr;
    ++brackets_;
    if (!adopt(*e, expr())) return nullptr;
    --brackets_;
    if (!expect("}", "mix")) return nullptr;
    e->at = since(e->at);
    return e;
  }

  Circuit& circuit_;
  std::vector<Token> tokens_;
  Diagnostics& diagnostics_;
  std::vector<Token> sections_;
  size_t pos_ = 0;
  size_t statement_ = 0;   // where the innermost statement began
  bool unclosed_ = false;  // of several open braces one is told about
  int brackets_ = 0;       // open ones of the statement: inside them a line's end means nothing
  int depth_ = 0;          // of expressions and blocks
};

}  // namespace

const Flow* Circuit::flow(std::string_view name) const {
  for (const Flow& f : flows)
    if (f.name.text == name) return &f;
  return nullptr;
}
const Def* Circuit::def(std::string_view name) const {
  for (const Def& d : defs)
    if (d.name.text == name) return &d;
  return nullptr;
}
const DimEntry* Circuit::dim(std::string_view name) const {
  for (const DimEntry& d : dims)
    if (d.kind == DimEntry::Kind::dim && d.name.text == name) return &d;
  return nullptr;
}
const StateEntry* Circuit::state(std::string_view name) const {
  for (const StateEntry& s : states)
    if (s.name.text == name) return &s;
  return nullptr;
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
