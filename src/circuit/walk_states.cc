// States in a flow, and what their constructors make.
#include <algorithm>

#include "circuit/walker.h"

namespace etch {
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

FlowValue Walker::state(const StateEntry& first, const Expr& index) {
  const std::string& name = first.name.text;
  Polynomial l;
  if (!whole_number(index, "the index of a state is made of dims", l)) return {};
  if (index.kind == Expr::Kind::name)
    if (const auto variable = frame_.find(index.text); variable != frame_.end())
      mark_used(variable->second);
  FlowValue v = FlowValue::of({});
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
  if (answer == Answer::open)
    options_.note(index.at, fmt::format("cannot prove that {} is declared", v.operand.name));
  if (!state_type_at(dims_, *chosen, l, here, v.operand.state, options_.note, options_.report)) {
    failed_ = true;
    return {};
  }
  return v;
}

Formula state_declared_at(Dims& dims, const StateEntry& s, const Polynomial& layer) {
  const DimValue l = DimValue::of(layer);
  const Dims::Lookup scope = Dims::only(s.variable.text, l);
  Polynomial first, last;
  if (!dims.range(s.range, first, last)) return false;
  Formula f = !less(dims.proof(), layer, first) && less(dims.proof(), layer, last);
  if (f.is_false() || s.where == nullptr) return f;
  return f && dims.truth(dims.evaluate(*s.where, scope), s.where->at);
}

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
