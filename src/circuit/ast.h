// Circuit: a circuit text as a tree. Made by parse_circuit(); checked by check_circuit(); put
// together with a model by bind(). Plain data: every node knows where in the text it stands, and
// nothing here is evaluated.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ops/op.h"

namespace etch {

// A place in a circuit's text. Lines and columns count from 1 (a column is a character); begin and
// end are bytes.
struct Location {
  int line = 0, column = 0;
  int begin = 0, end = 0;
};

struct Name {
  std::string text;
  Location at;
};

enum class BinaryOp : uint8_t {
  add,
  sub,
  mul,
  div,
  mod,
  pow,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  in,
  and_,
  or_
};
std::string_view spelling(BinaryOp op);

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Argument {
  std::string attribute;  // "" if positional
  Location at;            // of the attribute's name, or of the value
  ExprPtr value;
};

struct Expr {
  enum class Kind : uint8_t {
    number,       // text: as written
    text,         // text: without the quotes
    truth,        // true, false
    none,         // none: "without"
    symbol,       // causal, halves, ...
    name,         // text
    call,         // text(arguments)
    list,         // [operands]
    each_list,    // [operands[0] for variable in operands[1]..operands[2]]
    index,        // operands[0] [operands[1]]
    slice,        // operands[0] [operands[1]..operands[2]]
    negate,       // -operands[0]
    not_,         // not operands[0]
    binary,       // operands[0] binary operands[1]
    conditional,  // operands[0] ? operands[1] : operands[2]
    otherwise,    // operands[0] else operands[1]
    mix,          // mix variable[, weight] in operands[0] { operands[1] }
  };
  Kind kind = Kind::none;
  Location at;  // whole extent; line and column of the first token, of the operator for binary ones
  std::string text;
  double real = 0;
  int64_t integer = 0;
  bool is_integer = false;
  bool truth = false;
  bool parenthesised = false;  // as the author wrote it, for printing
  Symbol symbol = Symbol::none;
  BinaryOp binary = BinaryOp::add;
  Name variable, weight;
  std::vector<ExprPtr> operands;
  std::vector<Argument> arguments;
  int depth = 1;  // height of the tree, bounded by the parser

  bool is_name(std::string_view name) const { return kind == Kind::name && text == name; }
  bool is_call(std::string_view name) const { return kind == Kind::call && text == name; }
};

struct Range {
  ExprPtr first, last;  // the end is excluded
};

struct DimEntry {
  enum class Kind : uint8_t { dim, require };
  Kind kind = Kind::dim;
  Location at;
  Name name;
  std::optional<Name> parameter;    // d(l) = ...
  ExprPtr value;                    // of a dim
  std::vector<ExprPtr> conditions;  // of a require
};

enum class BiasRule : uint8_t { none, present, perhaps };

struct Part {
  Name name;
  Location at;
  std::vector<ExprPtr> shape;
  BiasRule bias = BiasRule::none;
  bool optional = false;
  std::optional<Name> otherwise;  // else OTHER
  ExprPtr otherwise_index;        //           [expr]
  std::vector<std::string> as;    // exact tensor names, tried in order
  std::optional<std::string> or_each;
  std::vector<ExprPtr> stored;
  std::string role;  // "" or query key value out gate up down keep
};

struct PartItem {
  enum class Kind : uint8_t { part, pack, branch, each };
  Kind kind = Kind::part;
  Location at;
  Part part;
  Name name;              // of the pack, or the variable of each
  Range range;            // of each
  ExprPtr condition;      // of branch, or each ... where
  bool optional = false;  // each ... optional
  bool has_else = false;
  std::vector<PartItem> items, otherwise;
};

struct StateEntry {
  Name name, variable;
  Location at;
  Range range;
  ExprPtr where;
  ExprPtr value;
};

struct Statement {
  enum class Kind : uint8_t { assign, append, each, branch };
  Kind kind = Kind::assign;
  Location at;
  std::vector<Name> targets;
  ExprPtr value;  // assigned; append: the call; branch: the condition
  Name variable;
  Range range;
  bool has_else = false;
  std::vector<Statement> body, otherwise;
};

struct Def {
  Name name;
  Location at;
  std::vector<Name> parameters;
  bool is_expression = false;  // def f(x) = expr
  std::vector<Statement> body;
  std::vector<ExprPtr> results;
};

struct FlowOutput {
  Name name;
  bool maybe = false;  // scores?
};

struct Flow {
  Name name;  // "" for the main flow
  Location at;
  std::vector<Name> inputs;
  std::vector<FlowOutput> outputs;
  std::vector<Statement> body;
};

struct Ignore {
  bool is_key = false;
  std::string pattern;
  Location at;
  std::optional<Name> variable;
  Range range;
};

struct ImportEntry {
  bool is_key = false;
  Name target;
  ExprPtr value;
};

struct Import {
  std::vector<Name> architectures;
  Location at;
  std::vector<ImportEntry> entries;
};

struct Circuit {
  std::string file;  // as printed: "circuits/llama.circuit"
  std::string text;
  Name name;
  int64_t revision = 0;
  ExprPtr match;
  std::vector<DimEntry> dims;
  std::vector<PartItem> parts;
  std::vector<StateEntry> states;
  std::vector<Def> defs;
  std::vector<Flow> flows;
  std::vector<Ignore> ignores;
  std::vector<Import> imports;

  const Flow* flow(std::string_view name) const;  // "" is the main one
  const Def* def(std::string_view name) const;
  const DimEntry* dim(std::string_view name) const;
  const StateEntry* state(std::string_view name) const;
};

// The tree of a text, or every syntax error in it with its line and a caret.
Result<Circuit> parse_circuit(std::string text, std::string file);

// Stable text: one statement a line, two spaces of indent, no comments. Parsing it again gives the
// same tree.
std::string print(const Circuit& circuit);
std::string print(const Expr& expr);

}  // namespace etch
