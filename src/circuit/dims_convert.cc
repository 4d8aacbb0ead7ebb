// Values of dims as conditions and whole numbers, and which expressions are dims at all.
#include <algorithm>
#include <cmath>

#include "circuit/dims.h"

namespace etch {

using Kind = DimValue::Kind;

constexpr std::string_view kMaths[] = {"floor", "sqrt", "exp", "ln"};  // also operations on wires

bool Dims::is_absent(const DimValue& v, const Location& at) {
  if (v.kind != Kind::absent) return false;
  report_(at, ErrorKind::damaged, fmt::format("key '{}' is missing", v.text));
  return true;
}

Formula Dims::truth(const DimValue& v, const Location& at) {
  switch (v.kind) {
    case Kind::truth:
      return v.truth;
    case Kind::integer:
      return !equals(proof_, v.integer, 0);
    case Kind::unknown:
      return Formula::atom(v.text);
    case Kind::absent:
      is_absent(v, at);
      return false;
    case Kind::wrong:
      return false;
    default:
      break;
  }
  report_kind(v, at, "true or false", "a condition");
  return false;
}

bool Dims::integer(const DimValue& v, const Location& at, Polynomial& out) {
  if (v.kind == Kind::integer || v.kind == Kind::unknown) {
    out = length(v);
    return true;
  }
  if (v.kind == Kind::real && v.known && v.real == std::floor(v.real) && std::abs(v.real) < 9e15) {
    out = static_cast<int64_t>(v.real);  // 2.0 in a file is 2
    return true;
  }
  if (v.kind == Kind::wrong || is_absent(v, at)) return false;
  if (v.kind == Kind::real)
    report_kind(v, at, "a whole number", "a whole number", "real number");
  else
    report_kind(v, at, "a number", "a whole number");
  return false;
}

bool Dims::range(const Range& r, Polynomial& first, Polynomial& last, const Lookup& variables) {
  return integer(evaluate(*r.first, variables), r.first->at, first) &&
         integer(evaluate(*r.last, variables), r.last->at, last);
}

Polynomial Dims::length(const DimValue& v) {
  if (v.kind == Kind::integer) return v.integer;
  const Unknown u{v.order, v.text};
  if (v.dependent) proof_.set_dependent(u);
  return Polynomial(u);
}

// A value of the wrong kind is the file's fault where a key brought it, else the circuit's.
void Dims::report_kind(const DimValue& v, const Location& at, std::string_view of_key,
                       std::string_view here, std::string_view kind) {
  if (kind.empty()) kind = kind_name(v.kind);
  if (!v.source.empty())
    report_(at, ErrorKind::damaged,
            fmt::format("key '{}' is a {}, {} is needed", v.source, kind, of_key));
  else
    report_(at, ErrorKind::usage,
            fmt::format("{} is needed here, this is {}{}", here, v.kind == Kind::none ? "" : "a ",
                        kind));
}

bool Dims::is_dims(const Expr& e, const Lookup& variables) const {
  const auto all = [&](const Lookup& scope) {
    for (const ExprPtr& o : e.operands)
      if (!is_dims(*o, scope)) return false;
    for (const Argument& a : e.arguments)
      if (!is_dims(*a.value, scope)) return false;
    return true;
  };
  switch (e.kind) {
    case Expr::Kind::name:
      return variables(e.text) != nullptr || e.text == "arch" || circuit_.dim(e.text) != nullptr;
    case Expr::Kind::slice:
    case Expr::Kind::mix:
      return false;
    case Expr::Kind::each_list: {
      static const DimValue kAny = DimValue::of(0);
      const Lookup inner = [&](std::string_view n) {
        return n == e.variable.text ? &kAny : variables(n);
      };
      return all(inner);
    }
    case Expr::Kind::call:
      if (circuit_.dim(e.text) != nullptr) return true;
      if (std::find(std::begin(kMaths), std::end(kMaths), e.text) != std::end(kMaths))
        return all(variables);
      return is_builtin(e.text);
    default:
      return all(variables);
  }
}

}  // namespace etch
