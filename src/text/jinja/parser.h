// Parser: tokens to the syntax tree, by recursive descent. Binding strengths are Jinja's, loosest
// first:
//   if-else, or, and, not, comparisons and in, + -, ~, * / // %, **, signs, .x [x] (x), filters and
//   tests
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/chat_template.h"
#include "text/jinja/ast.h"
#include "text/jinja/lex.h"

namespace etch::jinja {

class Parser {
 public:
  Parser(std::vector<Token> tokens, TemplateProblem& problem)
      : tokens_(std::move(tokens)), problem_(problem) {}
  Result<Body> parse_all();

 private:
  using Words = std::vector<std::string_view>;

  // parse_statements.cc
  // Up to a tag that begins with one of these, its name not taken.
  Result<Body> parse_body(const Words& ends);
  Result<std::unique_ptr<Statement>> parse_tag();
  Result<std::unique_ptr<Statement>> parse_for();
  Result<std::unique_ptr<Statement>> parse_if();
  Result<std::unique_ptr<Statement>> parse_set();
  Result<std::unique_ptr<Statement>> parse_macro();
  Result<std::unique_ptr<Statement>> parse_call_block();
  Result<std::unique_ptr<Statement>> parse_filter_block();
  Result<std::unique_ptr<Statement>> parse_with();
  Result<std::unique_ptr<Statement>> parse_scope(std::string_view end);
  Status parse_parameters(Statement& macro);
  Result<ExpressionPtr> parse_target(bool allow_attribute);
  Status finish_tag(std::string_view end);  // "endfor %}"

  // parse_expressions.cc: operators
  Result<ExpressionPtr> parse_expression();
  Result<ExpressionPtr> parse_or();
  Result<ExpressionPtr> parse_and();
  Result<ExpressionPtr> parse_not();
  Result<ExpressionPtr> parse_compare();
  Result<ExpressionPtr> parse_sum();
  Result<ExpressionPtr> parse_concat();
  Result<ExpressionPtr> parse_product();
  Result<ExpressionPtr> parse_power();
  Result<ExpressionPtr> parse_factor();
  Result<ExpressionPtr> parse_unary(bool with_filter);
  Result<ExpressionPtr> parse_chain(std::initializer_list<std::string_view> operators,
                                    Result<ExpressionPtr> (Parser::*operand)());

  // parse_values.cc
  Result<ExpressionPtr> parse_primary();
  Result<ExpressionPtr> parse_number();
  Result<ExpressionPtr> parse_list();
  Result<ExpressionPtr> parse_dict();
  // a, b, c without brackets; `plain` leaves out if-else, as after `for x in`
  Result<ExpressionPtr> parse_tuple(bool plain = false, bool in_brackets = false);
  bool at_tuple_end(bool behind_comma) const;

  // parse_postfix.cc: what follows a value
  Result<ExpressionPtr> parse_postfix(ExpressionPtr base);
  Result<ExpressionPtr> parse_item(ExpressionPtr base);
  Result<ExpressionPtr> parse_slice_part();
  Result<ExpressionPtr> parse_call(ExpressionPtr callee);
  Result<std::unique_ptr<CallArguments>> parse_arguments();
  Result<ExpressionPtr> parse_filters(ExpressionPtr base);
  Result<ExpressionPtr> parse_filter(ExpressionPtr base);
  Result<ExpressionPtr> parse_test(ExpressionPtr base);

  // parse_words.cc
  const Token& now() const { return tokens_[at_]; }
  const Token& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token take() { return at_ + 1 < tokens_.size() ? tokens_[at_++] : tokens_[at_]; }
  bool is_symbol(std::string_view s) const {
    return now().kind == TokenKind::symbol && now().text == s;
  }
  bool is_name(std::string_view s) const {
    return now().kind == TokenKind::name && now().text == s;
  }
  bool skip_symbol(std::string_view s);
  bool skip_name(std::string_view s);
  Status expect_symbol(std::string_view s);
  Result<std::string> expect_name(std::string_view what);
  Result<std::string> expect_dotted_name(std::string_view what);
  ExpressionPtr make(ExpressionKind kind, Place place, std::string text = {}) const;
  tl::unexpected<Error> wrong(std::string_view expected);  // "expected ..., found ..."
  tl::unexpected<Error> wrong_at(Place place, std::string message);
  Status enter();                                 // fails where the parser is nested too deep
  Result<ExpressionPtr> finish(ExpressionPtr e);  // fails where the expression is

  std::vector<Token> tokens_;
  TemplateProblem& problem_;
  size_t at_ = 0;
  int depth_ = 0;
  int loops_ = 0;                   // for break and continue
  std::vector<Statement*> macros_;  // being parsed: do they mention varargs, kwargs, caller?
  friend struct ParserNesting;
};

// One level of brackets or prefixes.
struct ParserNesting {
  explicit ParserNesting(Parser& parser) : parser_(parser) { ++parser_.depth_; }
  ~ParserNesting() { --parser_.depth_; }
  Parser& parser_;
};

}  // namespace etch::jinja
