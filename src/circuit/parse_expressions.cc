// Expressions, from the loosest operator to the tightest.
#include "circuit/parser.h"

namespace etch {
namespace {

constexpr Parser::Operator kOr[] = {{"or", BinaryOp::or_}};
constexpr Parser::Operator kAnd[] = {{"and", BinaryOp::and_}};
constexpr Parser::Operator kRelations[] = {
    {"==", BinaryOp::eq}, {"!=", BinaryOp::ne}, {"<", BinaryOp::lt}, {"<=", BinaryOp::le},
    {">", BinaryOp::gt},  {">=", BinaryOp::ge}, {"in", BinaryOp::in}};
constexpr Parser::Operator kSums[] = {{"+", BinaryOp::add}, {"-", BinaryOp::sub}};
constexpr Parser::Operator kProducts[] = {
    {"*", BinaryOp::mul}, {"/", BinaryOp::div}, {"%", BinaryOp::mod}};

}  // namespace

ExprPtr Parser::make(Expr::Kind kind, const Location& at) {
  auto e = std::make_unique<Expr>();
  e->kind = kind;
  e->at = at;
  return e;
}

// Takes in a child; too deep a tree is an error.
bool Parser::adopt(Expr& parent, ExprPtr child) {
  if (child == nullptr) return false;
  parent.depth = std::max(parent.depth, child->depth + 1);
  parent.at.end = std::max(parent.at.end, child->at.end);
  parent.operands.push_back(std::move(child));
  if (parent.depth <= kMaxDepth) return true;
  too_deep(parent.at);
  return false;
}

ExprPtr Parser::too_deep(const Location& at) {
  error(at, "this expression is nested too deeply; give a piece of it a name");
  return nullptr;
}

// What `parse` gives, one level deeper.
ExprPtr Parser::nested(const Location& at, ExprPtr (Parser::*parse)()) {
  if (depth_ == kMaxDepth) return too_deep(at);
  ++depth_;
  ExprPtr e = (this->*parse)();
  --depth_;
  return e;
}

ExprPtr Parser::joined(BinaryOp op, const Token& word, ExprPtr a, ExprPtr b) {
  if (a == nullptr || b == nullptr) return nullptr;
  ExprPtr e = make(Expr::Kind::binary, word.at);
  e->binary = op;
  const int begin = a->at.begin;
  if (!adopt(*e, std::move(a)) || !adopt(*e, std::move(b))) return nullptr;
  e->at.begin = begin;
  return e;
}

// operand {OPERATOR operand}, grouped from the left.
ExprPtr Parser::chain(std::span<const Operator> operators, ExprPtr (Parser::*operand)()) {
  ExprPtr e = (this->*operand)();
  while (e != nullptr) {
    const Operator* found = operator_here(operators);
    if (found == nullptr) break;
    const Token word = next();
    e = joined(found->second, word, std::move(e), (this->*operand)());
  }
  return e;
}

const Parser::Operator* Parser::operator_here(std::span<const Operator> operators) const {
  for (const Operator& o : operators)
    if (is_here(o.first)) return &o;
  return nullptr;
}

ExprPtr Parser::expr() { return nested(peek().at, &Parser::otherwise); }

bool Parser::expression(ExprPtr& out) {
  out = expr();
  return out != nullptr;
}

// `else` may begin the next line; behind a block's brace it is not reached here.
ExprPtr Parser::otherwise() {
  ExprPtr e = condition();
  while (e != nullptr && is("else") && !is("{", 1) && !is("if", 1)) {
    ExprPtr o = make(Expr::Kind::otherwise, e->at);
    next();
    if (!adopt(*o, std::move(e)) || !adopt(*o, condition())) return nullptr;
    e = std::move(o);
  }
  return e;
}

ExprPtr Parser::condition() {
  ExprPtr e = disjunction();
  if (e == nullptr || !take_here("?")) return e;
  ExprPtr c = make(Expr::Kind::conditional, e->at);
  if (!adopt(*c, std::move(e)) || !adopt(*c, expr())) return nullptr;
  if (!expect(":", "cond ? a : b")) return nullptr;
  return adopt(*c, nested(peek().at, &Parser::condition)) ? std::move(c) : nullptr;
}

ExprPtr Parser::disjunction() { return chain(kOr, &Parser::conjunction); }
ExprPtr Parser::conjunction() { return chain(kAnd, &Parser::negation); }

ExprPtr Parser::negation() {
  if (!is("not")) return relation();
  ExprPtr e = make(Expr::Kind::not_, next().at);
  return adopt(*e, relation()) ? std::move(e) : nullptr;
}

ExprPtr Parser::relation() {
  ExprPtr e = sum();
  const Operator* found = e == nullptr ? nullptr : operator_here(kRelations);
  if (found == nullptr) return e;
  const Token word = next();
  return joined(found->second, word, std::move(e), sum());
}

ExprPtr Parser::sum() { return chain(kSums, &Parser::term); }
ExprPtr Parser::term() { return chain(kProducts, &Parser::unary); }

ExprPtr Parser::unary() {
  if (!is("-")) return power();
  ExprPtr e = make(Expr::Kind::negate, next().at);
  return adopt(*e, power()) ? std::move(e) : nullptr;
}

ExprPtr Parser::power() {
  ExprPtr e = postfix();
  if (e == nullptr || !is_here("^")) return e;
  const Token word = next();
  return joined(BinaryOp::pow, word, std::move(e), nested(word.at, &Parser::unary));
}

ExprPtr Parser::postfix() {
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

}  // namespace etch
