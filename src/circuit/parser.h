// The parser of circuits: recursive descent over the grammar of docs/circuit-language.md. A
// function that reads something tells its own errors and gives false or null.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "circuit/ast.h"
#include "circuit/diagnostics.h"
#include "circuit/lex.h"

namespace etch {

class Parser {
 public:
  using Operator = std::pair<std::string_view, BinaryOp>;

  Parser(Circuit& circuit, std::vector<Token> tokens, Diagnostics& diagnostics)
      : circuit_(circuit), tokens_(std::move(tokens)), diagnostics_(diagnostics) {}

  void run();

 private:
  static constexpr int kMaxDepth = 100;  // everything that walks a tree recurses

  struct Section {
    std::string_view word;
    void (Parser::*parse)();
    bool once;
  };
  static const Section* section(std::string_view word);  // null if there is none

  // ---- the word at hand ----
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
  bool take(std::string_view text) {
    if (!is(text)) return false;
    next();
    return true;
  }
  // A word that may go on with a statement: on the same line, or inside a bracket.
  bool continues() const { return brackets_ > 0 || !peek().starts_line; }
  bool is_here(std::string_view text) const { return continues() && is(text); }
  bool take_here(std::string_view text) { return continues() && take(text); }

  // parse_words.cc: what every statement is read with
  Location here() const;
  Location since(const Location& first) const;
  bool error(const Location& at, std::string message);
  bool expect(std::string_view text, std::string_view in);
  bool end_statement(std::string_view in);
  bool name(Name& out, std::string_view in, bool dotted = false);
  bool text(std::string& out, std::string_view in);
  bool comma_list(std::string_view close, std::string_view in, const std::function<bool()>& item);
  bool block(std::string_view in, const std::function<bool()>& statement);
  void skip_statement(size_t began);
  void skip_to_section();
  bool starts_section() const;

  // parse.cc
  bool header();
  void once(const Token& section);
  void section_block(std::string_view in, const std::function<bool()>& statement);

  // parse_parts.cc
  void dims();
  bool dim();
  void parts();
  bool part_item(std::vector<PartItem>& items, bool in_pack);
  bool part(Part& p);
  bool shape(std::vector<ExprPtr>& lengths, std::string_view in);
  bool range(Range& r);

  // parse_sections.cc
  void states();
  void ignore();
  void import();

  // parse_flow.cc
  void def();
  bool def_after_word(Def& d);
  void flow();
  bool flow_after_word(Flow& f);
  bool statement(std::vector<Statement>& out);
  bool statement_of(Statement& s);
  bool branch(Statement& s);

  // parse_expressions.cc: operators, from the loosest to the tightest
  ExprPtr expr();
  bool expression(ExprPtr& out);
  ExprPtr otherwise();
  ExprPtr condition();
  ExprPtr disjunction();
  ExprPtr conjunction();
  ExprPtr negation();
  ExprPtr relation();
  ExprPtr sum();
  ExprPtr term();
  ExprPtr unary();
  ExprPtr power();
  ExprPtr postfix();
  ExprPtr make(Expr::Kind kind, const Location& at);
  bool adopt(Expr& parent, ExprPtr child);
  ExprPtr joined(BinaryOp op, const Token& word, ExprPtr a, ExprPtr b);
  ExprPtr chain(std::span<const Operator> operators, ExprPtr (Parser::*operand)());
  const Operator* operator_here(std::span<const Operator> operators) const;
  ExprPtr nested(const Location& at, ExprPtr (Parser::*parse)());
  ExprPtr too_deep(const Location& at);

  // parse_values.cc: what stands between operators
  ExprPtr atom();
  ExprPtr number();
  ExprPtr parenthesised();
  ExprPtr list();
  ExprPtr word();
  ExprPtr call();
  bool argument(Expr& call);
  ExprPtr mix();

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

}  // namespace etch
