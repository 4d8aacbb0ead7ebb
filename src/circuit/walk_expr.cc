// The walker's expressions: names to operands, calls to applications.
#include <algorithm>

#include "circuit/diagnostics.h"
#include "circuit/walker.h"

namespace etch {
namespace {

// Operations that may stand in the body of a mix, where wires carry an axis of slots in front.
bool takes_slots(Op op) {
  switch (op) {
    case Op::linear:
    case Op::softmax:
    case Op::sum:
    case Op::rmsnorm:
    case Op::layernorm:
    case Op::l2norm:
    case Op::heads:
    case Op::merge:
    case Op::split:
    case Op::concat:
    case Op::rope:
    case Op::mix:
      return true;
    default:
      return info(op).family == OpFamily::elementwise;
  }
}

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

bool is_zero(const DimValue& v) {
  return (v.kind == DimValue::Kind::integer && v.integer == Polynomial(0)) ||
         (v.kind == DimValue::Kind::real && v.known && v.real == 0);
}

std::string_view article(std::string_view word) {
  return word == "ids" || word == "experts" || word == "none" ? "" : word == "index" ? "an " : "a ";
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
      o.length = Polynomial(Unknown{d.order, d.text});
      if (d.dependent) dims_.proof().set_dependent(Unknown{d.order, d.text});
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
      if (x.kind == FlowValue::Kind::wrong) return {x};
      return emit(Op::mul, {std::move(x), of_dim(DimValue::of(-1))}, {e.operands[0]->at, e.at}, {},
                  1, e.at);
    }
    case Expr::Kind::otherwise:
      return {wrong(e.at, "'else' is for keys that a file may not have")};
    default:
      return {wrong(e.at, "this is no value for a wire; conditions and lists are made of dims")};
  }
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
        return whole.kind == FlowValue::Kind::wrong ? whole : element(whole, at);
      }
      if (d.each != nullptr) return part(base.text, &at, base.at, false);
    }
  }
  FlowValue x = evaluate(base);
  if (x.kind == FlowValue::Kind::wrong) return x;
  if (x.kind == FlowValue::Kind::operand && x.operand.is_part() && x.operand.type.shape.size() == 3)
    return element(x, at);
  FlowValue i = evaluate(at);
  if (i.kind == FlowValue::Kind::wrong) return i;
  std::vector<FlowValue> out =
      emit(Op::index, {std::move(x), std::move(i)}, {base.at, at.at}, {}, 1, e.at);
  return out.empty() ? FlowValue{} : out[0];
}

FlowValue Walker::slice(const Expr& e) {
  std::vector<FlowValue> arguments;
  std::vector<Location> places;
  for (const ExprPtr& o : e.operands) {
    arguments.push_back(evaluate(*o));
    places.push_back(o->at);
    if (arguments.back().kind == FlowValue::Kind::wrong) return {};
  }
  std::vector<FlowValue> out = emit(Op::slice, std::move(arguments), places, {}, 1, e.at);
  return out.empty() ? FlowValue{} : out[0];
}

FlowValue Walker::conditional(const Expr& e) {
  const Dims::Lookup scope = lookup();
  const Expr& c = *e.operands[0];
  if (!dims_.is_dims(c, scope))
    return wrong(
        c.at,
        "a condition is made of dims: what tensors hold is not known when a circuit is bound");
  const DimValue v = dims_.evaluate(c, scope);
  if (v.kind == DimValue::Kind::wrong || dims_.is_absent(v, c.at)) {
    failed_ = true;
    return {};
  }
  const Formula f = dims_.truth(v, c.at);
  const Answer answer = follows(assumptions(), f);
  if (answer != Answer::open) return evaluate(*e.operands[answer == Answer::proved ? 1 : 2]);
  const auto arm = [&](size_t i, const Formula& holds, std::string said) {
    path_.push_back(holds);
    conditions_.push_back(std::move(said));
    FlowValue a = evaluate(*e.operands[i]);
    conditions_.pop_back();
    path_.pop_back();
    return a;
  };
  const FlowValue a = arm(1, f, print(c)), b = arm(2, !f, fmt::format("not ({})", print(c)));
  if (a.kind == FlowValue::Kind::wrong || b.kind == FlowValue::Kind::wrong) return {};
  FlowValue out = merged(e.at, "this value", f, a, b);
  if (!settle(out)) return {};
  out.conflict.clear();
  out.open.clear();
  out.defined = Formula(true);
  out.operand.name.clear();
  return out;
}

FlowValue Walker::mix(const Expr& e) {
  FlowValue r = evaluate(*e.operands[0]);
  if (r.kind == FlowValue::Kind::wrong) return r;
  if (r.kind != FlowValue::Kind::operand || !r.operand.is_wire() ||
      r.operand.type.kind != Type::Kind::experts)
    return wrong(e.operands[0]->at, "mix wants experts here, from route");
  if (mix_) return wrong(e.at, "a mix inside a mix");
  const Frame outer = frame_;
  FlowValue variable;
  variable.kind = FlowValue::Kind::expert;
  variable.defined = Formula(true);
  frame_[e.variable.text] = variable;
  mix_ = Mix{e.variable.text, r.operand};
  const bool plain = !e.weight.text.empty();
  if (plain) {
    std::vector<FlowValue> w = emit(Op::expert_weights, {r}, {e.operands[0]->at}, {}, 1, e.at);
    if (!w.empty()) {
      w[0].slots = true;
      w[0].origins = {e.weight.at.begin};
      w[0].operand.name = e.weight.text;
      w[0].defined = Formula(true);
      assignments[e.weight.at.begin] = e.weight;
      frame_[e.weight.text] = w[0];
    }
  }
  FlowValue y = evaluate(*e.operands[1]);
  mix_.reset();
  frame_ = outer;
  if (y.kind == FlowValue::Kind::wrong) return y;
  if (!y.slots)
    return wrong(e.operands[1]->at,
                 fmt::format("the body of mix does not depend on '{}'", e.variable.text));
  std::vector<NamedOperand> attributes;
  if (plain) {
    Operand yes;
    yes.kind = Operand::Kind::truth;
    yes.truth = true;
    attributes.push_back({"plain", yes});
  }
  std::vector<FlowValue> out =
      emit(Op::mix, {std::move(y), std::move(r)}, {e.operands[1]->at, e.operands[0]->at},
           std::move(attributes), 1, e.at);
  if (out.empty()) return {};
  out[0].slots = false;
  return out[0];
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
  if (a.kind == FlowValue::Kind::wrong || b.kind == FlowValue::Kind::wrong) return {};
  std::vector<FlowValue> out =
      emit(*op, {std::move(a), std::move(b)}, {e.operands[0]->at, e.operands[1]->at}, {}, 1, e.at);
  return out.empty() ? FlowValue{} : out[0];
}

// ---- calls ----

std::vector<FlowValue> Walker::call(const Expr& e, size_t n) {
  if (const Def* def = dims_.circuit().def(e.text)) return inline_def(e, *def, n);
  if (const std::optional<Op> op = op_of_spelling(e.text)) return apply_op(e, *op, n);
  std::vector<std::string_view> known;
  for (const OpInfo& i : all_ops())
    if (i.family != OpFamily::graph && i.op != Op::mix) known.push_back(i.spelled);
  for (const Def& d : dims_.circuit().defs) known.push_back(d.name.text);
  wrong(e.at, fmt::format("no operation '{}'{}", e.text, suggestion(e.text, known)));
  return {};
}

std::vector<FlowValue> Walker::inline_def(const Expr& e, const Def& def, size_t n) {
  used_defs.insert(def.name.text);
  if (std::find(inlining_.begin(), inlining_.end(), def.name.text) != inlining_.end()) {
    wrong(def.name.at, fmt::format("def '{}' uses itself", def.name.text));
    return {};
  }
  if (e.arguments.size() != def.parameters.size()) {
    wrong(e.at,
          fmt::format("{} takes {} argument{}, {} given", def.name.text, def.parameters.size(),
                      def.parameters.size() == 1 ? "" : "s", e.arguments.size()));
    return {};
  }
  if (def.results.size() != n) {
    wrong(e.at,
          fmt::format("{} returns {} value{}, {} {} at the left", def.name.text, def.results.size(),
                      def.results.size() == 1 ? "" : "s", n, n == 1 ? "name is" : "names are"));
    return {};
  }
  Frame inner;
  for (size_t i = 0; i < def.parameters.size(); ++i) {
    const Argument& a = e.arguments[i];
    if (!a.attribute.empty()) {
      wrong(a.at, fmt::format("{} has no attribute '{}'", def.name.text, a.attribute));
      return {};
    }
    FlowValue v = evaluate(*a.value);
    if (v.kind == FlowValue::Kind::wrong) return {};
    v.defined = Formula(true);
    v.origins = {def.parameters[i].at.begin};
    assignments[def.parameters[i].at.begin] = def.parameters[i];
    inner[def.parameters[i].text] = std::move(v);
  }
  if (options_.call) {
    std::vector<Location> places;
    std::vector<Operand> operands;
    for (size_t i = 0; i < def.parameters.size(); ++i) {
      places.push_back(e.arguments[i].value->at);
      operands.push_back(to_operand(inner[def.parameters[i].text]));
    }
    options_.call(e.at, places, operands);
  }
  inlining_.push_back(def.name.text);
  std::swap(frame_, inner);
  std::vector<FlowValue> results;
  if (statements(def.body))
    for (const ExprPtr& r : def.results) results.push_back(evaluate(*r));
  std::swap(frame_, inner);
  inlining_.pop_back();
  if (std::any_of(results.begin(), results.end(),
                  [](const FlowValue& v) { return v.kind == FlowValue::Kind::wrong; }))
    results.clear();
  return results;
}

bool Walker::arity(const Expr& e, Op op) {
  const OpInfo& i = info(op);
  int positional = 0;
  for (const Argument& a : e.arguments) positional += a.attribute.empty() ? 1 : 0;
  if (positional >= i.fewest && positional <= i.most) return true;
  const std::string takes = i.fewest == i.most ? fmt::format("{}", i.fewest)
                            : i.most == 64     ? fmt::format("{} or more", i.fewest)
                                               : fmt::format("{} to {}", i.fewest, i.most);
  wrong(e.at, fmt::format("{} takes {} argument{}, {} given", i.spelled, takes,
                          i.most == 1 ? "" : "s", positional));
  return false;
}

std::vector<FlowValue> Walker::apply_op(const Expr& e, Op op, size_t n) {
  if (!arity(e, op)) return {};
  const OpInfo& i = info(op);
  std::vector<FlowValue> arguments;
  std::vector<Location> places;
  std::vector<NamedOperand> attributes;
  bool ok = true;
  for (const Argument& a : e.arguments) {
    if (a.attribute.empty()) {
      arguments.push_back(evaluate(*a.value));
      places.push_back(a.value->at);
      ok = ok && arguments.back().kind != FlowValue::Kind::wrong;
      continue;
    }
    const auto at = std::find_if(i.attributes.begin(), i.attributes.end(),
                                 [&](const AttributeInfo& x) { return x.name == a.attribute; });
    if (at == i.attributes.end()) {
      std::vector<std::string_view> known;
      for (const AttributeInfo& x : i.attributes) known.push_back(x.name);
      wrong(a.at, fmt::format("{} has no attribute '{}'{}", i.spelled, a.attribute,
                              suggestion(a.attribute, known)));
      ok = false;
      continue;
    }
    attribute(e, a, *at, op, attributes, ok);
  }
  for (const AttributeInfo& x : i.attributes) {
    const bool given = std::any_of(e.arguments.begin(), e.arguments.end(),
                                   [&](const Argument& a) { return a.attribute == x.name; });
    if (x.needed && !given) {
      wrong(e.at, fmt::format("{} needs '{}'", i.spelled, x.name));
      ok = false;
    }
  }
  if (!ok) return {};
  // In the order of ops.def.
  std::stable_sort(attributes.begin(), attributes.end(),
                   [&](const NamedOperand& a, const NamedOperand& b) {
                     const auto place = [&](std::string_view name) {
                       return std::find_if(i.attributes.begin(), i.attributes.end(),
                                           [&](const AttributeInfo& x) { return x.name == name; });
                     };
                     return place(a.name) < place(b.name);
                   });
  if (op == Op::softcap && arguments[1].kind == FlowValue::Kind::dim &&
      (arguments[1].dim.kind == DimValue::Kind::none || is_zero(arguments[1].dim)) && n == 1)
    return {arguments[0]};
  if (op == Op::pool && arguments[1].kind == FlowValue::Kind::dim &&
      arguments[1].dim.kind == DimValue::Kind::none && n == 1)
    return {arguments[0]};
  if (options_.call) {
    std::vector<Location> all = places;
    std::vector<Operand> operands;
    for (const FlowValue& v : arguments) operands.push_back(to_operand(v));
    for (const NamedOperand& a : attributes)
      for (const Argument& written : e.arguments)
        if (written.attribute == a.name) {
          all.push_back(written.value->at);
          operands.push_back(a.value);
        }
    options_.call(e.at, all, operands);
  }
  return emit(op, std::move(arguments), places, std::move(attributes), n, e.at);
}

// One attribute. Those whose value is none, or a window or chunk of 0, are left out.
bool Walker::attribute(const Expr& call, const Argument& a, const AttributeInfo& info, Op op,
                       std::vector<NamedOperand>& out, bool& ok) {
  const Expr& value = *a.value;
  const auto mistake = [&](std::string message) {
    wrong(value.at, std::move(message));
    return ok = false;
  };
  FlowValue v;
  const bool plain_part =
      value.kind == Expr::Kind::name && !frame_.contains(value.text) && parts_.contains(value.text);
  if (plain_part)
    v = part(value.text, nullptr, value.at, info.type == AttributeType::wire);
  else
    v = evaluate(value);
  if (v.kind == FlowValue::Kind::wrong) return ok = false;
  if (v.kind == FlowValue::Kind::dim && v.dim.kind == DimValue::Kind::none) return true;
  Operand o = to_operand(v);
  if (o.kind == Operand::Kind::none) {
    if (v.kind == FlowValue::Kind::operand)
      return true;  // an optional part that the file does not have
    return mistake(fmt::format("'{}' of {} cannot be {}", info.name, call.text, print(v.dim)));
  }
  const bool unknown = o.is_number() && !o.known;
  switch (info.type) {
    case AttributeType::number:
      if (!o.is_number())
        return mistake(fmt::format("'{}' of {} is a number", info.name, call.text));
      if ((info.name == "window" || info.name == "chunk") && v.kind == FlowValue::Kind::dim &&
          is_zero(v.dim))
        return true;
      if (o.known && o.real < 0 && info.name != "scale")
        return mistake(fmt::format("'{}' of {} cannot be negative", info.name, call.text));
      break;
    case AttributeType::truth:
      if (o.kind == Operand::Kind::number && o.is_integer && o.known) {  // a key that stores 0 or 1
        o.kind = Operand::Kind::truth;
        o.truth = o.real != 0;
      }
      if (o.kind != Operand::Kind::truth && !unknown)
        return mistake(fmt::format("'{}' of {} is true or false", info.name, call.text));
      break;
    case AttributeType::symbol: {
      const std::span<const Symbol> words = words_of(op, info.name);
      const bool fits = o.kind == Operand::Kind::symbol &&
                        std::find(words.begin(), words.end(), o.symbol) != words.end();
      if (fits || unknown) break;
      std::string list;
      for (const Symbol s : words) list += (list.empty() ? "" : ", ") + std::string(name(s));
      return mistake(fmt::format("'{}' is one of {}", info.name, list));
    }
    case AttributeType::wire: {
      if (!o.is_wire() && !o.is_part())
        return mistake(fmt::format("'{}' of {} is a wire or a part, this is {}{}", info.name,
                                   call.text, article(name(o.kind)), name(o.kind)));
      const bool ids = info.name == "chosen";
      const bool kind_fits = ids ? o.type.kind == Type::Kind::ids ||
                                       (dims_.symbolic() && o.type.kind == Type::Kind::real)
                                 : o.type.kind == Type::Kind::real;
      if (!kind_fits)
        return mistake(
            fmt::format("'{}' of {} cannot be {}", info.name, call.text, name(o.type.kind)));
      break;
    }
    case AttributeType::state:
      if (o.kind != Operand::Kind::state)
        return mistake(fmt::format("'{}' of {} is a state", info.name, call.text));
      used_states.insert(o.name.substr(0, o.name.find('[')));
      break;
    case AttributeType::selection:
      if (!o.is_wire() || o.type.kind != Type::Kind::selection)
        return mistake(fmt::format("'{}' of {} comes from select", info.name, call.text));
      break;
  }
  out.push_back({info.name, std::move(o)});
  return true;
}

// ---- applications ----

std::vector<FlowValue> Walker::emit(Op op, std::vector<FlowValue> arguments,
                                    const std::vector<Location>& places,
                                    std::vector<NamedOperand> attributes, size_t n,
                                    const Location& at) {
  const bool slots =
      std::any_of(arguments.begin(), arguments.end(), [](const FlowValue& v) { return v.slots; });
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].kind == FlowValue::Kind::expert) {
      wrong(places[i], "the chosen expert is an index of stacks and nothing else");
      return {};
    }
  if (op == Op::linear && arguments[1].kind == FlowValue::Kind::operand &&
      arguments[1].operand.chosen)
    return emit_experts(std::move(arguments), places, at);
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].kind == FlowValue::Kind::operand && arguments[i].operand.chosen) {
      wrong(places[i], fmt::format("{} cannot use one matrix of a stack per expert; linear can",
                                   info(op).spelled));
      return {};
    }
  if (slots && !takes_slots(op)) {
    wrong(at, fmt::format("{} cannot stand in the body of a mix", info(op).spelled));
    return {};
  }
  if (slots && (info(op).family == OpFamily::elementwise || op == Op::concat) &&
      !make_room(arguments, at))
    return {};
  std::vector<Operand> operands;
  for (const FlowValue& v : arguments) operands.push_back(to_operand(v));
  if (!reads_types(op, operands, places) || !reads_types(op, attributes, at)) return {};
  const bool norm = op == Op::rmsnorm || op == Op::layernorm;
  if (norm && operands.size() == 3 && operands[1].is_part()) norm_parts.insert(operands[1].name);
  ShapeCheck check(op, operands, attributes, static_cast<int>(n), dims_.proof());
  infer_shapes(check);
  for (const ShapeFinding& f : check.findings) {
    const bool placed = f.argument >= 0 && static_cast<size_t>(f.argument) < places.size();
    const Location& where = placed ? places[static_cast<size_t>(f.argument)] : at;
    if (f.answer == Answer::refuted)
      wrong(where, f.message);
    else if (options_.note)
      options_.note(where, f.message);
  }
  if (check.failed()) return {};
  if (check.results.size() != n) {
    wrong(at, n == 0 ? fmt::format("{} gives a value that nothing takes", info(op).spelled)
                     : fmt::format("{} gives {} value{}, {} {} at the left", info(op).spelled,
                                   check.results.size(), check.results.size() == 1 ? "" : "s", n,
                                   n == 1 ? "name is" : "names are"));
    return {};
  }
  if (info(op).family == OpFamily::mixing) {
    for (const Operand& o : operands)
      if (o.kind == Operand::Kind::state) {
        used_states.insert(o.name.substr(0, o.name.find('[')));
        const bool reads_only = op == Op::attention && operands.size() == 2;
        if (!reads_only) note_write(o, at);
      }
  }
  std::vector<FlowValue> results;
  std::vector<Operand> wires;
  for (Type& t : check.results) {
    FlowValue r;
    r.kind = FlowValue::Kind::operand;
    r.operand.kind = Operand::Kind::wire;
    r.operand.id = next_wire_++;
    r.operand.type = std::move(t);
    r.slots = slots;
    r.defined = Formula(true);
    wires.push_back(r.operand);
    results.push_back(std::move(r));
  }
  if (has_sink() && !failed_) {
    const Application application{
        op,    operands, attributes,
        wires, at,       layers_.empty() ? -1 : static_cast<int>(layers_.back())};
    if (!options_.sink->apply(application).has_value()) {
      failed_ = true;
      return {};
    }
  }
  return results;
}

// Matrices and tables come in any type; whatever else is read from a part is F32, F16 or BF16.
bool Walker::reads_type(Op op, const Operand& o, bool matrix, const Location& at) {
  if (!o.is_part()) return true;
  if (!matrix) wire_parts.insert(o.name);
  if (options_.binding == nullptr) return true;
  const PartData& data = options_.binding->parts[static_cast<size_t>(o.id)].data;
  const std::string_view tensor = data.weight->name, type = name(data.dtype);
  const bool ids = o.type.kind == Type::Kind::ids;
  if (matrix) {
    if (!ids || op == Op::embed) return true;
    wrong(at,
          fmt::format("'{}' is {}, {} reads weights of numbers, not of ids", tensor, type,
                      info(op).spelled),
          ErrorKind::unsupported);
    return false;
  }
  if (data.dtype == DType::f32 || data.dtype == DType::f16 || data.dtype == DType::bf16)
    return true;
  wrong(at, fmt::format("'{}' is {}, {} reads F32, F16 or BF16", tensor, type, info(op).spelled),
        ErrorKind::unsupported);
  return false;
}

bool Walker::reads_types(Op op, const std::vector<Operand>& operands,
                         const std::vector<Location>& places) {
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool matrix = (op == Op::linear && i == 1) || (op == Op::embed && i == 0);
    if (!reads_type(op, operands[i], matrix, places[i])) return false;
  }
  return true;
}

bool Walker::reads_types(Op op, const std::vector<NamedOperand>& attributes, const Location& at) {
  return std::all_of(attributes.begin(), attributes.end(),
                     [&](const NamedOperand& a) { return reads_type(op, a.value, false, at); });
}

// linear(x, stack[e]): proved with one matrix and one row, applied to all chosen ones.
std::vector<FlowValue> Walker::emit_experts(std::vector<FlowValue> arguments,
                                            const std::vector<Location>& places,
                                            const Location& at) {
  Operand x = to_operand(arguments[0]);
  const Operand stack = arguments[1].operand;
  const Polynomial n_used = mix_->experts.type.shape[0];
  if (arguments[0].slots && !x.type.shape.empty()) x.type.shape.erase(x.type.shape.begin());
  if (!reads_type(Op::linear, stack, true, places[1])) return {};
  const Operand single[] = {x, stack};
  ShapeCheck check(Op::linear, single, {}, 1, dims_.proof());
  infer_shapes(check);
  for (const ShapeFinding& f : check.findings) {
    const Location& where = f.argument >= 0 ? places[static_cast<size_t>(f.argument)] : at;
    if (f.answer == Answer::refuted)
      wrong(where, f.message);
    else if (options_.note)
      options_.note(where, f.message);
  }
  if (check.failed()) return {};
  if (x.type.shape.size() != 1) {
    wrong(places[0], fmt::format("linear with an expert's matrix takes one row, {} is {}",
                                 check.called(0), print(x.type.shape)));
    return {};
  }
  FlowValue r;
  r.kind = FlowValue::Kind::operand;
  r.slots = true;
  r.defined = Formula(true);
  r.operand.kind = Operand::Kind::wire;
  r.operand.id = next_wire_++;
  r.operand.type = check.results[0];
  r.operand.type.shape.insert(r.operand.type.shape.begin(), n_used);
  if (has_sink() && !failed_) {
    const Operand operands[] = {to_operand(arguments[0]), mix_->experts, stack};
    const Operand wires[] = {r.operand};
    const Application application{Op::linear_experts,
                                  operands,
                                  {},
                                  wires,
                                  at,
                                  layers_.empty() ? -1 : static_cast<int>(layers_.back())};
    if (!options_.sink->apply(application).has_value()) {
      failed_ = true;
      return {};
    }
  }
  return {std::move(r)};
}

// Slots stand in front; a wire from outside with more axes than one with slots would meet its slots
// with an axis of its own.
bool Walker::make_room(std::vector<FlowValue>& arguments, const Location& at) {
  size_t rank = 0;
  for (const FlowValue& v : arguments)
    if (v.kind == FlowValue::Kind::operand) {
      const size_t own = v.operand.type.shape.size();
      rank = std::max(rank, v.slots && own > 0 ? own - 1 : own);
    }
  for (FlowValue& v : arguments)
    while (v.slots && v.operand.type.shape.size() < rank + 1) {
      const std::string name = v.operand.name;
      std::vector<FlowValue> wider =
          emit(Op::heads, {v, of_dim(DimValue::of(1))}, {at, at}, {}, 1, at);
      if (wider.empty()) return false;
      v = std::move(wider[0]);
      v.operand.name = name;
    }
  return true;
}

void Walker::note_write(const Operand& state, const Location& at) {
  written_states.insert(state.name.substr(0, state.name.find('[')));
  for (const Write& w : writes_) {
    if (w.state != state.name) continue;
    std::vector<Formula> both = path_;
    both.insert(both.end(), w.path.begin(), w.path.end());
    if (!can_hold(both)) continue;
    wrong(at, fmt::format("{} is written twice in this flow (lines {}, {})", state.name, w.at.line,
                          at.line));
    return;
  }
  writes_.push_back({state.name, path_, at});
}

}  // namespace etch
