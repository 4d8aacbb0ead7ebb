// The walker's names: which tensor a part is at a layer, which state an index means.
#include <algorithm>

#include "circuit/walker.h"

namespace etch {
namespace {

// What is left to decide are only conditions that a file gives directly, none that compares
// numbers: for some file each of them is false.
bool is_independent(const std::vector<Formula>& here, const Formula& f) {
  std::vector<std::string> atoms;
  f.collect_atoms(atoms);
  return std::all_of(atoms.begin(), atoms.end(), [&](const std::string& a) {
    const bool compares = a.find(" < ") != std::string::npos || a.find(" == ") != std::string::npos;
    return !compares || follows(here, Formula::atom(a)) != Answer::open;
  });
}

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

std::string Walker::conditions_here() const {
  std::string s;
  for (const std::string& c : conditions_) s += (s.empty() ? "" : " and ") + c;
  return s;
}

// A part by name. A layer's part takes its index from what is written, or from the variable of its
// `each` in scope.
FlowValue Walker::part(std::string_view name, const Expr* layer, const Location& at,
                       bool may_be_absent) {
  const PartDeclaration& d = *parts_.find(name)->second[0];
  used_parts.emplace(name);
  Polynomial l(-1);
  if (layer != nullptr) {
    const Dims::Lookup scope = lookup();
    if (!dims_.is_dims(*layer, scope))
      return wrong(layer->at, "the index of a part is made of dims");
    if (!dims_.integer(dims_.evaluate(*layer, scope), layer->at, l)) {
      failed_ = true;
      return {};
    }
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
  FlowValue v;
  v.kind = FlowValue::Kind::operand;
  v.defined = Formula(true);
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
  const std::vector<const PartDeclaration*>& all = parts_.find(name)->second;
  const std::vector<Formula> here = assumptions();
  // The declaration that holds here, if it can be told; the one that may hold otherwise.
  const PartDeclaration* chosen = nullptr;
  Formula anywhere(false);
  Answer best = Answer::refuted;
  for (const PartDeclaration* d : all) {
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
  if (!may_be_absent) {
    const Answer answer = follows(here, anywhere);
    if (answer == Answer::refuted || (answer == Answer::open && is_independent(here, anywhere))) {
      const std::string used = conditions_here();
      return wrong(at, used.empty()
                           ? fmt::format("{} is used for all layers, declared only where {}", name,
                                         where_of(all))
                           : fmt::format("{} is used for layers where {}, declared only where {}",
                                         name, used, where_of(all)));
    }
    if (answer == Answer::open && options_.note)
      options_.note(
          at, fmt::format("cannot prove that {} is declared wherever it is used: only where {}",
                          name, where_of(all)));
    if (chosen->may_be_absent() && !chosen->part->otherwise) {
      const std::string index = chosen->each == nullptr ? "" : fmt::format("[{}]", layer.print());
      Formula present = Formula::atom(fmt::format("has({}{})", name, index));
      // Of a group that is there as a whole, any part speaks for all.
      for (const PartDeclaration& other : declarations_)
        if (chosen->optional_group() != nullptr &&
            other.optional_group() == chosen->optional_group() && !chosen->part->optional &&
            !other.part->optional)
          present =
              present || Formula::atom(fmt::format("has({}{})", other.part->name.text, index));
      if (follows(here, present) != Answer::proved)
        return wrong(at, fmt::format("'{}' may be absent: ask has({}) first", name, name));
    }
  }
  FlowValue v;
  v.kind = FlowValue::Kind::operand;
  v.defined = Formula(true);
  v.operand.kind = Operand::Kind::part;
  v.operand.name = std::string(name);
  v.operand.has_bias = chosen->part->bias != BiasRule::none;
  if (!shape_at(dims_, chosen->part->shape, chosen->variable(), layer, v.operand.type.shape)) {
    failed_ = true;
    return {};
  }
  return v;
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
  if (i.kind == FlowValue::Kind::wrong) return i;
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

FlowValue Walker::state(const StateEntry& first, const Expr& index) {
  const Dims::Lookup scope = lookup();
  const std::string& name = first.name.text;
  Polynomial l;
  if (!dims_.is_dims(index, scope)) return wrong(index.at, "the index of a state is made of dims");
  if (!dims_.integer(dims_.evaluate(index, scope), index.at, l)) {
    failed_ = true;
    return {};
  }
  if (index.kind == Expr::Kind::name)
    if (const auto variable = frame_.find(index.text); variable != frame_.end())
      mark_used(variable->second);
  FlowValue v;
  v.kind = FlowValue::Kind::operand;
  v.defined = Formula(true);
  v.operand.kind = Operand::Kind::state;
  v.operand.name = fmt::format("{}[{}]", name, l.print());
  if (!dims_.symbolic()) {
    const auto found = bound_states_.find(v.operand.name);
    if (found == bound_states_.end())
      return wrong(index.at, fmt::format("there is no state {}", v.operand.name));
    const StateInfo& s = options_.binding->states[static_cast<size_t>(found->second)];
    v.operand.id = found->second;
    v.operand.state = {static_cast<StateType::Kind>(s.kind), s.n, s.d_k, s.d_v, s.block};
    return v;
  }
  const std::vector<Formula> here = assumptions();
  const StateEntry* chosen = nullptr;
  Formula anywhere(false);
  for (const StateEntry& s : dims_.circuit().states) {
    if (s.name.text != name) continue;
    const Formula f = state_declared_at(dims_, s, l);
    anywhere = anywhere || f;
    const Answer answer = follows(here, f);
    if (chosen == nullptr || answer == Answer::proved) chosen = &s;
    if (answer == Answer::proved) break;
  }
  const Answer answer = follows(here, anywhere);
  if (answer == Answer::refuted || (answer == Answer::open && is_independent(here, anywhere)))
    return wrong(
        index.at,
        fmt::format("{} is used for layers where {}, declared only for {} in {}..{}{}", name,
                    conditions_here().empty() ? "nothing is asked" : conditions_here(),
                    first.variable.text, print(*first.range.first), print(*first.range.last),
                    first.where ? " where " + print(*first.where) : ""));
  if (answer == Answer::open && options_.note)
    options_.note(index.at, fmt::format("cannot prove that {} is declared", v.operand.name));
  if (!state_type_at(dims_, *chosen, l, here, v.operand.state, options_.note, options_.report)) {
    failed_ = true;
    return {};
  }
  return v;
}

// ---- states ----

Formula state_declared_at(Dims& dims, const StateEntry& s, const Polynomial& layer) {
  const DimValue l = DimValue::of(layer);
  const Dims::Lookup scope = Dims::only(s.variable.text, l);
  Polynomial first, last;
  if (!dims.range(s.range, first, last)) return false;
  Formula f = !less(dims.proof(), layer, first) && less(dims.proof(), layer, last);
  if (f.is_false() || s.where == nullptr) return f;
  return f && dims.truth(dims.evaluate(*s.where, scope), s.where->at);
}

namespace {

struct Constructor {
  std::string_view name;
  StateType::Kind kind;
  size_t arguments;
  bool blocks;
};
constexpr Constructor kConstructors[] = {{"cache", StateType::Kind::cache, 3, true},
                                         {"latents", StateType::Kind::latents, 2, true},
                                         {"index", StateType::Kind::index, 2, true},
                                         {"last", StateType::Kind::last, 2, false},
                                         {"matrix", StateType::Kind::matrix, 3, false}};

bool construct(Dims& dims, const Expr& e, const Dims::Lookup& scope, StateType& out,
               const Dims::Report& report) {
  const auto fail = [&](const Location& at, std::string message) {
    report(at, ErrorKind::usage, std::move(message));
    return false;
  };
  const Constructor* c = nullptr;
  if (e.kind == Expr::Kind::call)
    for (const Constructor& k : kConstructors)
      if (k.name == e.text) c = &k;
  if (c == nullptr) return fail(e.at, "a state is made by cache, latents, index, last or matrix");
  std::vector<Polynomial> lengths;
  Polynomial block;
  for (const Argument& a : e.arguments) {
    Polynomial p;
    if (!dims.integer(dims.evaluate(*a.value, scope), a.value->at, p)) return false;
    if (p.is_constant() && p.constant() < 0)
      return fail(a.value->at, fmt::format("a state of size {}", p.constant()));
    if (a.attribute.empty())
      lengths.push_back(p);
    else if (a.attribute == "block" && c->blocks)
      block = p;
    else
      return fail(a.at, fmt::format("{} has no attribute '{}'", e.text, a.attribute));
  }
  if (lengths.size() != c->arguments)
    return fail(
        e.at, fmt::format("{} takes {} arguments, {} given", e.text, c->arguments, lengths.size()));
  out = {c->kind, lengths[0], lengths[1], c->arguments == 3 ? lengths[2] : Polynomial(0), block};
  if (c->kind == StateType::Kind::latents) out = {c->kind, 1, lengths[0], lengths[1], block};
  return true;
}

}  // namespace

bool state_type_at(Dims& dims, const StateEntry& s, const Polynomial& layer,
                   const std::vector<Formula>& path, StateType& out,
                   const std::function<void(const Location&, std::string)>& note,
                   const Dims::Report& report) {
  const DimValue l = DimValue::of(layer);
  const Dims::Lookup scope = Dims::only(s.variable.text, l);
  const Expr* e = s.value.get();
  while (e->kind == Expr::Kind::conditional) {
    const DimValue v = dims.evaluate(*e->operands[0], scope);
    if (v.kind == DimValue::Kind::wrong || dims.is_absent(v, e->operands[0]->at)) return false;
    const Answer answer = follows(path, dims.truth(v, e->operands[0]->at));
    if (answer == Answer::open && note)
      note(e->at, fmt::format("cannot prove which of the two {} is here", s.name.text));
    e = e->operands[answer == Answer::refuted ? 2 : 1].get();
  }
  return construct(dims, *e, scope, out, report);
}

}  // namespace etch
