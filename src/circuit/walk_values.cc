// Names, numbers and operators of a flow.
#include <algorithm>

#include "circuit/diagnostics.h"
#include "circuit/walker.h"

namespace etch {
namespace {

std::optional<Op> op_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
      return Op::add;
    case BinaryOp::sub:
      return Op::sub;
    case BinaryOp::mul:
      return Op::mul;
    case BinaryOp::div:
      return Op::div;
    case BinaryOp::mod:
      return Op::mod;
    default:
      return std::nullopt;
  }
}

}  // namespace

FlowValue Walker::of_dim(DimValue v) {
  FlowValue f;
  if (v.kind == DimValue::Kind::wrong) {
    failed_ = true;
    return f;
  }
  f.kind = FlowValue::Kind::dim;
  f.dim = std::move(v);
  return f;
}

Operand Walker::to_operand(const FlowValue& v) const {
  if (v.kind == FlowValue::Kind::operand) return v.operand;
  Operand o;
  if (v.kind != FlowValue::Kind::dim) return o;
  const DimValue& d = v.dim;
  switch (d.kind) {
    case DimValue::Kind::integer:
      o.kind = Operand::Kind::number;
      o.is_integer = true;
      o.length = d.integer;
      o.known = d.integer.is_constant();
      o.real = o.known ? static_cast<double>(d.integer.constant()) : 0;
      break;
    case DimValue::Kind::unknown:
      o.kind = Operand::Kind::number;
      o.is_integer = true;
      o.known = false;
      o.length = dims_.length(d);
      break;
    case DimValue::Kind::real:
      o.kind = Operand::Kind::number;
      o.real = d.real;
      o.known = d.known;
      break;
    case DimValue::Kind::truth:
      o.kind = Operand::Kind::truth;
      o.truth = d.truth.is_true();
      o.known = d.truth.is_known();
      break;
    case DimValue::Kind::symbol:
      o.kind = Operand::Kind::symbol;
      o.symbol = d.symbol;
      break;
    case DimValue::Kind::list:
      o.kind = Operand::Kind::numbers;
      for (const DimValue& i : d.items) {
        if (i.kind == DimValue::Kind::integer)
          o.numbers.push_back(i.integer);
        else if (i.kind == DimValue::Kind::unknown)
          o.numbers.emplace_back(Unknown{i.order, i.text});
        else
          o.kind = Operand::Kind::none;
      }
      break;
    case DimValue::Kind::rotary:
      o.kind = Operand::Kind::rotary;
      o.id = d.rotary;
      o.rotary_dims = dims_.rotaries()[static_cast<size_t>(d.rotary)].dims;
      o.name = dims_.rotaries()[static_cast<size_t>(d.rotary)].name;
      break;
    default:
      break;
  }
  return o;
}

FlowValue Walker::evaluate(const Expr& e) {
  std::vector<FlowValue> v = evaluate_many(e, 1);
  return v.empty() ? FlowValue{} : std::move(v[0]);
}

std::vector<FlowValue> Walker::evaluate_many(const Expr& e, size_t n) {
  const Dims::Lookup scope = lookup();
  if (n == 1 && dims_.is_dims(e, scope)) {
    DimValue v = dims_.evaluate(e, scope);
    if (dims_.is_absent(v, e.at)) v = {};
    FlowValue f = of_dim(std::move(v));
    if (e.kind == Expr::Kind::name)
      if (const auto at = frame_.find(e.text); at != frame_.end()) mark_used(at->second);
    return {std::move(f)};
  }
  if (e.kind == Expr::Kind::call) return call(e, n);
  if (n != 1) {
    wrong(e.at, fmt::format("{} names are at the left, this is one value", n));
    return {};
  }
  switch (e.kind) {
    case Expr::Kind::name:
      return {by_name(e)};
    case Expr::Kind::index:
      return {index(e)};
    case Expr::Kind::slice:
      return {slice(e)};
    case Expr::Kind::conditional:
      return {conditional(e)};
    case Expr::Kind::mix:
      return {mix(e)};
    case Expr::Kind::binary:
      return {binary(e)};
    case Expr::Kind::negate: {
      FlowValue x = evaluate(*e.operands[0]);
      if (is_wrong(x)) return {x};
      return {emit_one(Op::mul, {std::move(x), of_dim(DimValue::of(-1))}, {e.operands[0]->at, e.at},
                       e.at)};
    }
    case Expr::Kind::otherwise:
      return {wrong(e.at, "'else' is for keys that a file may not have")};
    default:
      return {wrong(e.at, "this is no value for a wire; conditions and lists are made of dims")};
  }
}

// A whole number made of dims; `message` says what else it is.
bool Walker::whole_number(const Expr& e, std::string_view message, Polynomial& out) {
  const Dims::Lookup scope = lookup();
  if (!dims_.is_dims(e, scope)) {
    wrong(e.at, std::string(message));
    return false;
  }
  if (dims_.integer(dims_.evaluate(e, scope), e.at, out)) return true;
  failed_ = true;
  return false;
}

FlowValue Walker::by_name(const Expr& e) {
  if (const auto at = frame_.find(e.text); at != frame_.end()) {
    mark_used(at->second);
    if (!settle(at->second)) return {};
    if (!at->second.defined.is_true() &&
        follows(assumptions(), at->second.defined) != Answer::proved) {
      const Location first =
          assignments.contains(at->second.origins.empty() ? -1 : at->second.origins[0])
              ? assignments[at->second.origins[0]].at
              : e.at;
      return wrong(first, fmt::format("'{}' is assigned in one arm only and used at line {}",
                                      e.text, e.at.line));
    }
    return at->second;
  }
  if (parts_.contains(e.text)) return part(e.text, nullptr, e.at, false);
  if (dims_.circuit().state(e.text) != nullptr)
    return wrong(e.at, fmt::format("'{}' is a state; say which: {}[l]", e.text, e.text));
  std::vector<std::string_view> known;
  for (const auto& [n, v] : frame_) known.push_back(n);
  for (const auto& [n, v] : parts_) known.push_back(n);
  for (const StateEntry& s : dims_.circuit().states) known.push_back(s.name.text);
  for (const DimEntry& d : dims_.circuit().dims) known.push_back(d.name.text);
  return wrong(e.at,
               fmt::format("nothing here is called '{}'{}", e.text, suggestion(e.text, known)));
}

FlowValue Walker::index(const Expr& e) {
  const Expr &base = *e.operands[0], &at = *e.operands[1];
  if (base.kind == Expr::Kind::name && !frame_.contains(base.text)) {
    if (const StateEntry* s = dims_.circuit().state(base.text)) return state(*s, at);
    if (const auto p = parts_.find(base.text); p != parts_.end()) {
      const PartDeclaration& d = *p->second[0];
      const bool stack = d.part->shape.size() == 3;
      // A layer's part takes its index from the variable in scope; what is written picks a matrix
      // of a stack, else a layer.
      const bool has_variable = d.each != nullptr && frame_.contains(d.variable());
      if (stack && (d.each == nullptr || has_variable)) {
        const FlowValue whole = part(base.text, nullptr, base.at, false);
        return is_wrong(whole) ? whole : element(whole, at);
      }
      if (d.each != nullptr) return part(base.text, &at, base.at, false);
    }
  }
  FlowValue x = evaluate(base);
  if (is_wrong(x)) return x;
  if (x.kind == FlowValue::Kind::operand && x.operand.is_part() && x.operand.type.shape.size() == 3)
    return element(x, at);
  FlowValue i = evaluate(at);
  if (is_wrong(i)) return i;
  return emit_one(Op::index, {std::move(x), std::move(i)}, {base.at, at.at}, e.at);
}

FlowValue Walker::slice(const Expr& e) {
  std::vector<FlowValue> arguments;
  std::vector<Location> places;
  for (const ExprPtr& o : e.operands) {
    arguments.push_back(evaluate(*o));
    places.push_back(o->at);
    if (is_wrong(arguments.back())) return {};
  }
  return emit_one(Op::slice, std::move(arguments), places, e.at);
}

FlowValue Walker::binary(const Expr& e) {
  const std::optional<Op> op = op_of(e.binary);
  if (e.binary == BinaryOp::pow) return wrong(e.at, "'^' is for dims; square(x) squares a wire");
  if (!op)
    return wrong(
        e.at,
        fmt::format("'{}' compares dims; what tensors hold is not known when a circuit is bound",
                    spelling(e.binary)));
  FlowValue a = evaluate(*e.operands[0]);
  FlowValue b = evaluate(*e.operands[1]);
  if (is_wrong(a) || is_wrong(b)) return {};
  return emit_one(*op, {std::move(a), std::move(b)}, {e.operands[0]->at, e.operands[1]->at}, e.at);
}

}  // namespace etch
