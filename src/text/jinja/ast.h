// The syntax tree of a template.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace etch::jinja {

struct Place {
  int line = 1, column = 1;
};

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

enum class ExpressionKind : uint8_t {
  constant,   // value
  name,       // text
  list,       // parts
  tuple,      // parts
  dict,       // parts: key, value, key, value, ...
  attribute,  // parts[0] . text
  item,       // parts[0] [ parts[1] ]
  slice,      // parts: start, stop, step; null where not given
  call,       // parts[0] ( arguments )
  filter,     // parts[0] | text ( arguments ); parts[0] is null in a filter block
  test,       // parts[0] is text ( arguments )
  unary,      // text parts[0]: "-", "+", "not"
  binary,     // parts[0] text parts[1]: + - * / // % ** and or
  concat,     // parts joined by ~
  compare,    // parts[0] operators[0] parts[1] operators[1] parts[2] ...
  condition,  // parts[0] if parts[1] else parts[2] (may be null)
};

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr star, star_star;  // *args, **kwargs
};

struct Expression {
  ExpressionKind kind;
  Place place;
  int depth = 1;  // of nesting
  std::string text;
  Value value;
  std::vector<ExpressionPtr> parts;
  std::vector<std::string> operators;
  std::unique_ptr<CallArguments> arguments;
};

struct Statement;
using Body = std::vector<std::unique_ptr<Statement>>;

enum class StatementKind : uint8_t {
  data,          // text
  print,         // expression
  if_,           // expression, body, otherwise
  for_,          // target, expression, condition, body, otherwise, recursive
  set,           // target = expression
  set_block,     // target = body, through the filters of expression (may be null)
  macro,         // text, parameters, defaults, body
  call_block,    // expression is the call; parameters, defaults, body
  filter_block,  // expression is the filter; body
  with,          // targets = values, body
  scope,         // body in a scope of its own: {% generation %}, {% block %}
  break_,
  continue_,
  unsupported,  // text: what only a loader of other templates could do
};

struct Statement {
  StatementKind kind;
  Place place;
  std::string text;
  ExpressionPtr target, expression, condition;
  std::vector<std::string> parameters;
  std::vector<ExpressionPtr> defaults;  // of the last parameters
  std::vector<ExpressionPtr> targets, values;
  bool recursive = false;
  bool uses_varargs = false, uses_kwargs = false, uses_caller = false;  // of a macro's body
  Body body, otherwise;
};

struct Template {
  std::string name;    // for messages
  std::string source;  // as given
  Body body;
};

}  // namespace etch::jinja
