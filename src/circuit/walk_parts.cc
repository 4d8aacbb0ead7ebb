// Parts in a flow: those of the file, or with letters those declared.
#include <algorithm>

#include "circuit/walker.h"

namespace etch {
namespace {

std::string where_of(const std::vector<const PartDeclaration*>& all) {
  std::string s;
  for (const PartDeclaration* d : all) {
    std::string one;
    for (const PartDeclaration::Guard& g : d->guards) {
      const PartItem& i = *g.item;
      if (i.kind == PartItem::Kind::each && i.condition == nullptr) continue;
      const std::string c = print(*i.condition);
      one += (one.empty() ? "" : " and ") + (g.otherwise ? fmt::format("not ({})", c) : c);
    }
    if (one.empty() && d->each != nullptr)
      one = fmt::format("{} in {}..{}", d->variable(), print(*d->each->range.first),
                        print(*d->each->range.last));
    s += (s.empty() ? "" : " or ") + one;
  }
  return s;
}

}  // namespace

// A part by name. A layer's part takes its index from what is written, or from the variable of its
// `each` in scope.
FlowValue Walker::part(std::string_view name, const Expr* layer, const Location& at,
                       bool may_be_absent) {
  const PartDeclaration& d = *parts_.find(name)->second[0];
  used_parts.emplace(name);
  Polynomial l(-1);
  if (layer != nullptr) {
    if (!whole_number(*layer, "the index of a part is made of dims", l)) return {};
  } else if (d.each != nullptr) {
    const auto variable = frame_.find(d.variable());
    if (variable == frame_.end() || variable->second.kind != FlowValue::Kind::dim)
      return wrong(
          at, fmt::format("'{}' stands in every layer and no '{}' is in scope; say which: {}[0]",
                          name, d.variable(), name));
    mark_used(variable->second);
    if (!dims_.integer(variable->second.dim, at, l)) {
      failed_ = true;
      return {};
    }
  }
  return dims_.symbolic() ? declared_part(name, l, at, may_be_absent)
                          : bound_part(name, l.constant(), at, may_be_absent);
}

FlowValue Walker::bound_part(std::string_view name, int64_t layer, const Location& at,
                             bool may_be_absent) {
  FlowValue v = FlowValue::of({});
  const auto found = layer >= -1 && layer <= INT32_MAX
                         ? bound_parts_.find({std::string(name), static_cast<int>(layer)})
                         : bound_parts_.end();
  if (found == bound_parts_.end()) {
    if (may_be_absent) return v;  // kind none
    const std::string index = layer < 0 ? "" : fmt::format("[{}]", layer);
    return wrong(at,
                 fmt::format("'{}{}' is used here and not in the file; ask has({}) first", name,
                             index, name),
                 ErrorKind::damaged);
  }
  const BoundPart& p = options_.binding->parts[static_cast<size_t>(found->second)];
  v.operand.kind = Operand::Kind::part;
  v.operand.name = std::string(name);
  v.operand.id = found->second;
  v.operand.has_bias = p.bias != nullptr;
  v.operand.has_scale = p.scale != nullptr;
  for (const int64_t n : p.data.shape) v.operand.type.shape.emplace_back(n);
  const bool integers = p.data.dtype == DType::i8 || p.data.dtype == DType::i16 ||
                        p.data.dtype == DType::i32 || p.data.dtype == DType::i64;
  if (integers) v.operand.type.kind = Type::Kind::ids;
  return v;
}

FlowValue Walker::declared_part(std::string_view name, const Polynomial& layer, const Location& at,
                                bool may_be_absent) {
  const std::vector<Formula> here = assumptions();
  // The declaration that holds here, if it can be told; the one that may hold otherwise.
  const PartDeclaration* chosen = nullptr;
  Formula anywhere(false);
  Answer best = Answer::refuted;
  for (const PartDeclaration* d : parts_.find(name)->second) {
    const Formula f = declared_at(dims_, *d, layer);
    anywhere = anywhere || f;
    const Answer answer = follows(here, f);
    if (chosen == nullptr || answer == Answer::proved ||
        (answer == Answer::open && best == Answer::refuted)) {
      chosen = d;
      best = answer;
    }
    if (answer == Answer::proved) break;
  }
  if (!may_be_absent &&
      (!is_declared(name, anywhere, here, at) || !is_present(*chosen, layer, here, at)))
    return {};
  FlowValue v = FlowValue::of({});
  v.operand.kind = Operand::Kind::part;
  v.operand.name = std::string(name);
  v.operand.has_bias = chosen->part->bias != BiasRule::none;
  if (!shape_at(dims_, chosen->part->shape, chosen->variable(), layer, v.operand.type.shape)) {
    failed_ = true;
    return {};
  }
  return v;
}

// Is the part declared wherever the walk is now?
bool Walker::is_declared(std::string_view name, const Formula& anywhere,
                         const std::vector<Formula>& here, const Location& at) {
  const Answer answer = follows(here, anywhere);
  if (answer == Answer::proved) return true;
  const std::string where = where_of(parts_.find(name)->second);
  if (answer == Answer::open && !is_independent(here, anywhere)) {
    options_.note(
        at, fmt::format("cannot prove that {} is declared wherever it is used: only where {}", name,
                        where));
    return true;
  }
  const std::string used = conditions_here();
  wrong(at, used.empty()
                ? fmt::format("{} is used for all layers, declared only where {}", name, where)
                : fmt::format("{} is used for layers where {}, declared only where {}", name, used,
                              where));
  return false;
}

// A part that a file may lack: has the circuit asked?
bool Walker::is_present(const PartDeclaration& d, const Polynomial& layer,
                        const std::vector<Formula>& here, const Location& at) {
  if (!d.may_be_absent() || d.part->otherwise) return true;
  const std::string& name = d.part->name.text;
  const std::string index = d.each == nullptr ? "" : fmt::format("[{}]", layer.print());
  const auto has = [&](const std::string& part) {
    return Formula::atom(fmt::format("has({}{})", part, index));
  };
  Formula present = has(name);
  // Of a group that is there as a whole, any part speaks for all.
  for (const PartDeclaration& other : declarations_)
    if (d.optional_group() != nullptr && other.optional_group() == d.optional_group() &&
        !d.part->optional && !other.part->optional)
      present = present || has(other.part->name.text);
  if (follows(here, present) == Answer::proved) return true;
  wrong(at, fmt::format("'{}' may be absent: ask has({}) first", name, name));
  return false;
}

// One matrix of a stack: of a number, or of the expert that a mix is at.
FlowValue Walker::element(const FlowValue& stack, const Expr& e) {
  FlowValue v = stack;
  const Shape& shape = stack.operand.type.shape;
  const Polynomial n = shape[0];
  v.operand.type.shape = Shape(shape.begin() + 1, shape.end());
  const Expr* chosen = &e;
  if (e.kind == Expr::Kind::binary && e.binary == BinaryOp::div) chosen = e.operands[0].get();
  const auto name = chosen->kind == Expr::Kind::name ? frame_.find(chosen->text) : frame_.end();
  if (name != frame_.end() && name->second.kind == FlowValue::Kind::expert) {
    v.operand.chosen = true;
    if (chosen == &e) return v;
    const Dims::Lookup scope = lookup();
    const Expr& divisor = *e.operands[1];
    Polynomial d;
    if (!dims_.is_dims(divisor, scope) ||
        !dims_.integer(dims_.evaluate(divisor, scope), divisor.at, d))
      return wrong(divisor.at, "an expert's index is divided by a whole number");
    if (!d.is_constant()) return v;
    if (d.constant() < 1)
      return wrong(divisor.at,
                   fmt::format("an expert's index cannot be divided by {}", d.constant()));
    v.operand.divisor = d.constant();
    return v;
  }
  const FlowValue i = evaluate(e);
  if (is_wrong(i)) return i;
  Polynomial at;
  if (i.kind != FlowValue::Kind::dim || !dims_.integer(i.dim, e.at, at))
    return wrong(e.at, "a stack is indexed by a number or by the expert of a mix");
  if (at.is_constant()) {
    if (at.constant() < 0 || (n.is_constant() && at.constant() >= n.constant()))
      return wrong(e.at, fmt::format("{} has {} matrices, matrix {} is asked for",
                                     stack.operand.name, n.print(), at.print()));
    v.operand.element = at.constant();
  }
  return v;
}

}  // namespace etch
