#include "ops/shape_rule.h"

#include <algorithm>

#include <fmt/core.h>

namespace etch {
namespace {

constexpr void (*kRules[])(ShapeCheck&) = {
#define OP(op, spelled, family, fewest, most) shape_rules::op,
#include "ops/ops.def"
};

Shape without_ones(const Shape& shape) {
  Shape out;
  for (const Polynomial& p : shape)
    if (!(p == Polynomial(1))) out.push_back(p);
  return out;
}

}  // namespace

void infer_shapes(ShapeCheck& check) {
  kRules[static_cast<size_t>(check.op)](check);
  if (check.failed()) check.results.clear();
  // A wire is per token, per block or per sequence; kinds do not mix, parts and numbers go with
  // all.
  std::optional<Type::Row> row;
  for (const Operand& o : check.arguments) {
    if (!o.is_wire()) continue;
    if (row && *row != o.type.row) {
      constexpr std::string_view kRows[] = {"token", "block", "sequence"};
      check.error(-1,
                  fmt::format("{}: a wire with one row per {} meets one per {}", name(check.op),
                              kRows[static_cast<int>(*row)], kRows[static_cast<int>(o.type.row)]));
      check.results.clear();
      return;
    }
    row = o.type.row;
  }
  for (Type& t : check.results)
    if (row && t.row == Type::Row::token) t.row = *row;
}

bool ShapeCheck::failed() const {
  return std::any_of(findings.begin(), findings.end(),
                     [](const ShapeFinding& f) { return f.answer == Answer::refuted; });
}

const Operand* ShapeCheck::attribute(std::string_view name) const {
  for (const NamedOperand& a : attributes)
    if (a.name == name) return &a.value;
  return nullptr;
}

std::string ShapeCheck::called(size_t argument) const {
  return arguments[argument].name.empty() ? "its input" : arguments[argument].name;
}

void ShapeCheck::result(Shape shape, Type::Kind kind) {
  for (const Polynomial& p : shape)
    if (p.overflowed()) {
      error(-1, fmt::format("{}: the result is too large", name(op)));
      return;
    }
  results.push_back({kind, Type::Row::token, std::move(shape)});
}

void ShapeCheck::error(int argument, std::string message) {
  findings.push_back({argument, Answer::refuted, std::move(message)});
}

void ShapeCheck::open(int argument, const Polynomial& a, const Polynomial& b) {
  findings.push_back({argument, Answer::open,
                      fmt::format("cannot prove {} == {}; add it to require if it must hold",
                                  a.print(), b.print())});
}

bool ShapeCheck::value(size_t argument) {
  const Operand& o = arguments[argument];
  const bool is_value = o.is_wire() || o.is_part() || o.is_number();
  if (is_value && (o.type.kind == Type::Kind::real || o.type.kind == Type::Kind::positions)) {
    if (!o.is_part() || o.type.shape.size() <= 2) return true;
    error(
        static_cast<int>(argument),
        fmt::format("{} wants a wire here, '{}' is a stack of matrices", info(op).spelled, o.name));
    return false;
  }
  const std::string what = is_value ? std::string(name(o.type.kind)) : std::string(name(o.kind));
  const std::string_view article = what == "ids" || what == "experts" || what == "none" ? "" : "a ";
  error(static_cast<int>(argument),
        o.name.empty()
            ? fmt::format("{} wants a wire here, this is {}{}", info(op).spelled, article, what)
            : fmt::format("{} wants a wire here, '{}' is {}{}", info(op).spelled, o.name, article,
                          what));
  return false;
}

bool ShapeCheck::wire(size_t argument) {
  if (!value(argument)) return false;
  if (!arguments[argument].is_number()) return true;
  error(static_cast<int>(argument),
        fmt::format("{} wants a wire here, this is a number", info(op).spelled));
  return false;
}

bool ShapeCheck::part(size_t argument) {
  const Operand& o = arguments[argument];
  if (o.is_part()) return true;
  error(static_cast<int>(argument),
        o.name.empty()
            ? fmt::format("{} wants a part here, this is a {}", info(op).spelled, name(o.kind))
            : fmt::format("{} wants a part here, '{}' is a {}", info(op).spelled, o.name,
                          name(o.kind)));
  return false;
}

bool ShapeCheck::state(size_t argument, StateType::Kind kind) {
  const Operand& o = arguments[argument];
  if (o.kind == Operand::Kind::state && o.state.kind == kind) return true;
  const std::string_view is = o.kind == Operand::Kind::state ? name(o.state.kind) : name(o.kind);
  error(static_cast<int>(argument),
        o.name.empty()
            ? fmt::format("{} wants a state made by {}(...) here", info(op).spelled, name(kind))
            : fmt::format("{} wants a state made by {}(...) here, '{}' is a {}", info(op).spelled,
                          name(kind), o.name, is));
  return false;
}

bool ShapeCheck::length(size_t argument, Polynomial& out) {
  const Operand& o = arguments[argument];
  if (o.is_number() && o.is_integer) {
    out = o.length;
    if (!out.is_constant() || out.constant() >= 0) return true;
    error(static_cast<int>(argument),
          fmt::format("{}: {} is negative", info(op).spelled, out.print()));
    return false;
  }
  error(static_cast<int>(argument), fmt::format("{} wants a whole number here", info(op).spelled));
  return false;
}

bool ShapeCheck::rank_at_least(size_t argument, size_t rank) {
  if (shape(argument).size() >= rank) return true;
  error(static_cast<int>(argument),
        fmt::format("{} wants at least {} {} here, {} is {}", info(op).spelled, rank,
                    rank == 1 ? "axis" : "axes", called(argument), print(shape(argument))));
  return false;
}

bool ShapeCheck::same_shape(int argument, const Shape& a_in, const Shape& b_in,
                            const std::string& what) {
  const Shape a = without_ones(a_in), b = without_ones(b_in);
  if (a.size() != b.size()) {
    // A length that may turn out to be 1 is not known yet.
    const Shape& longer = a.size() > b.size() ? a : b;
    for (const Polynomial& p : longer)
      if (proof.equal(p, 1) == Answer::open) {
        open(argument, p, 1);
        return true;
      }
    error(argument, fmt::format("{} is {}, {} is wanted", what, print(a_in), print(b_in)));
    return false;
  }
  for (size_t i = 0; i < a.size(); ++i)
    if (!equal(argument, a[i], b[i], [&] {
          return fmt::format("{} is {}, {} is wanted", what, print(a_in), print(b_in));
        }))
      return false;
  return true;
}

bool ShapeCheck::divide(int argument, const Polynomial& a, const Polynomial& b, Polynomial& out,
                        const std::string& what) {
  if (a.overflowed() || b.overflowed() || (b.is_constant() && b.constant() <= 0)) {
    error(argument, fmt::format("{}: cannot divide {} by {}", what, a.print(), b.print()));
    return false;
  }
  bool even = false;
  if (a.is_constant() && b.is_constant()) {
    even = a.constant() % b.constant() == 0;
    if (even) out = a.constant() / b.constant();
    if (!even)
      error(argument,
            fmt::format("{}: {} / {} does not come out even", what, a.constant(), b.constant()));
    return even;
  }
  out = proof.quotient_or_unknown(a, b, even);
  if (!even)
    findings.push_back(
        {argument, Answer::open,
         fmt::format("cannot prove ({}) % {} == 0; add it to require if it must hold", a.print(),
                     b.print())});
  return true;
}

bool ShapeCheck::broadcast(int argument, const Shape& a, const Shape& b, Shape& out) {
  const size_t rank = std::max(a.size(), b.size());
  out.assign(rank, Polynomial(1));
  for (size_t i = 0; i < rank; ++i) {  // from the last axis
    const Polynomial one(1);
    const Polynomial& x = i < a.size() ? a[a.size() - 1 - i] : one;
    const Polynomial& y = i < b.size() ? b[b.size() - 1 - i] : one;
    Polynomial& z = out[rank - 1 - i];
    if (x == one)
      z = y;
    else if (y == one)
      z = x;
    else {
      if (!equal(argument, x, y, [&] {
            return fmt::format("{}: {} and {} do not fit together: {} and {}", info(op).spelled,
                               print(a), print(b), x.print(), y.print());
          }))
        return false;
      z = x;
    }
  }
  return true;
}

}  // namespace etch
