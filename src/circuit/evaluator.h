// The evaluator of dims: one expression, with the variables in scope. With a file it computes with
// numbers, without with letters; a value that is wrong or absent passes through.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "circuit/dims.h"

namespace etch {

class Evaluator {
 public:
  Evaluator(Dims& dims, const Dims::Lookup& variables) : d_(dims), variables_(variables) {}

  DimValue run(const Expr& e);

  struct Builtin {
    std::string_view name;
    DimValue (Evaluator::*evaluate)(const Expr& call);
  };
  static const Builtin* builtin(std::string_view name);  // null if there is none

 private:
  // evaluate.cc: leaves, names and lists
  DimValue dispatch(const Expr& e);
  DimValue named(const Expr& e);
  DimValue list(const Expr& e);
  DimValue each_list(const Expr& e);
  DimValue entry_of(const DimValue& v, const Polynomial& i, const Location& at);
  DimValue index(const Expr& e);

  // evaluate_calls.cc
  static std::span<const Builtin> builtins();
  DimValue call(const Expr& e);
  bool arity(const Expr& e, size_t fewest, size_t most);
  DimValue per_layer(const Expr& e, const DimEntry& entry);
  DimValue key(const Expr& e);
  DimValue family(const Expr& e);
  DimValue of_part(const Expr& e);
  bool part_index(const Expr& part, const Expr* index, Polynomial& layer);
  DimValue cycle(const Expr& e);
  DimValue extreme(const Expr& e);
  DimValue length(const Expr& e);
  DimValue floor(const Expr& e);
  DimValue function(const Expr& e);

  // evaluate_rotary.cc
  DimValue rotary(const Expr& e);
  bool rotary_argument(const Argument& a, RotarySpec& spec);
  bool factor_part(const Argument& a, RotarySpec& spec);
  bool rotary_attribute(const Argument& a, const DimValue& v, RotarySpec& spec);
  bool rotary_dims(const DimValue& v, const Location& at, Polynomial& dims);
  DimValue either_rotary(const DimValue& a, const DimValue& b, const std::string& called);

  // evaluate_arithmetic.cc
  DimValue negate(const Expr& e);
  DimValue binary(const Expr& e);
  DimValue arithmetic(const DimValue& a, const DimValue& b, const Expr& e);
  DimValue real_arithmetic(const DimValue& a, const DimValue& b, const Expr& e);
  DimValue quotient(const Polynomial& x, const Polynomial& y, const Expr& e);
  DimValue remainder(const Polynomial& x, const Polynomial& y, const Expr& e);
  DimValue power(const DimValue& a, const DimValue& b, const Expr& e);
  DimValue checked(Polynomial p, const Location& at);

  // evaluate_choices.cc: comparisons and conditions
  DimValue not_(const Expr& e);
  DimValue junction(const Expr& e);
  Formula same(const DimValue& a, const DimValue& b, const Expr& e);
  DimValue membership(const DimValue& a, const DimValue& b, const Expr& e);
  DimValue order(const DimValue& a, const DimValue& b, const Expr& e);
  DimValue conditional(const Expr& e);
  DimValue either(const Formula& f, const DimValue& a, const DimValue& b,
                  const std::string& called);
  DimValue otherwise(const Expr& e);

  DimValue wrong(const Location& at, std::string message, ErrorKind kind = ErrorKind::usage);
  bool refuse(const Location& at, std::string message, ErrorKind kind = ErrorKind::usage);
  DimValue needs_number(const DimValue& v, const Location& at);

  Dims& d_;
  const Dims::Lookup& variables_;
  bool in_default_ = false;  // behind `else`, where a division need not come out even
};

}  // namespace etch
