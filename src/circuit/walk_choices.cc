// if, and cond ? a : b: two arms, and one value for what they assign.
#include "circuit/walker.h"

namespace etch {
namespace {

bool is_value(const FlowValue& v) {
  return v.kind == FlowValue::Kind::operand && (v.operand.is_wire() || v.operand.is_part());
}

std::string described(const FlowValue& v) {
  if (is_value(v)) return print(v.operand.type.shape);
  return v.kind == FlowValue::Kind::dim ? print(v.dim) : std::string(name(v.operand.kind));
}

}  // namespace

// A condition of dims, and what is known of it here.
bool Walker::condition(const Expr& e, Formula& out, Answer& answer) {
  const Dims::Lookup scope = lookup();
  if (!dims_.is_dims(e, scope)) {
    wrong(e.at,
          "a condition is made of dims: what tensors hold is not known when a circuit is bound");
    return false;
  }
  const DimValue v = dims_.evaluate(e, scope);
  if (v.kind == DimValue::Kind::wrong || dims_.is_absent(v, e.at)) {
    failed_ = true;
    return false;
  }
  out = dims_.truth(v, e.at);
  answer = follows(assumptions(), out);
  return true;
}

// One arm of a choice that only a file decides: what holds there, for proofs and as it is said.
template <class Arm>
auto Walker::arm(const Formula& holds, std::string said, Arm walk) {
  path_.push_back(holds);
  conditions_.push_back(std::move(said));
  auto result = walk();
  conditions_.pop_back();
  path_.pop_back();
  return result;
}

bool Walker::branch(const Statement& s) {
  Formula c;
  Answer answer;
  if (!condition(*s.value, c, answer)) return false;
  if (c.is_known() || answer != Answer::open)
    return statements(answer == Answer::proved ? s.body : s.otherwise);
  const Frame before = frame_;
  const std::string said = print(*s.value);
  const bool simple = s.value->kind == Expr::Kind::name || s.value->kind == Expr::Kind::call;
  const std::string contrary = simple ? "not " + said : fmt::format("not ({})", said);
  bool ok = arm(c, said, [&] { return statements(s.body); });
  const Frame a = std::exchange(frame_, before);
  ok = arm(!c, contrary, [&] { return statements(s.otherwise); }) && ok;
  const Frame b = std::exchange(frame_, before);
  merge(s, c, before, a, b);
  return ok;
}

FlowValue Walker::conditional(const Expr& e) {
  const Expr& c = *e.operands[0];
  Formula f;
  Answer answer;
  if (!condition(c, f, answer)) return {};
  if (answer != Answer::open) return evaluate(*e.operands[answer == Answer::proved ? 1 : 2]);
  const FlowValue a = arm(f, print(c), [&] { return evaluate(*e.operands[1]); });
  const FlowValue b =
      arm(!f, fmt::format("not ({})", print(c)), [&] { return evaluate(*e.operands[2]); });
  if (is_wrong(a) || is_wrong(b)) return {};
  FlowValue out = merged(e.at, "this value", f, a, b);
  if (!settle(out)) return {};
  out.conflict.clear();
  out.open.clear();
  out.defined = Formula(true);
  out.operand.name.clear();
  return out;
}

std::string Walker::conditions_here() const {
  std::string s;
  for (const std::string& c : conditions_) s += (s.empty() ? "" : " and ") + c;
  return s;
}

void Walker::merge(const Statement& s, const Formula& condition, const Frame& before,
                   const Frame& a, const Frame& b) {
  std::set<std::string> names;
  for (const auto& [name, v] : a) names.insert(name);
  for (const auto& [name, v] : b) names.insert(name);
  frame_.clear();
  for (const std::string& name : names) {
    const auto in_a = a.find(name), in_b = b.find(name), was = before.find(name);
    if (in_a == a.end() || in_b == b.end()) {
      FlowValue v = in_a == a.end() ? in_b->second : in_a->second;
      v.defined = v.defined && (in_a == a.end() ? !condition : condition);
      frame_[name] = std::move(v);
      continue;
    }
    const bool untouched = was != before.end() && in_a->second.origins == was->second.origins &&
                           in_b->second.origins == was->second.origins;
    frame_[name] =
        untouched ? was->second : merged(s.at, name, condition, in_a->second, in_b->second);
  }
}

// One value for what two arms assigned. Arms of a name that nothing uses may differ, so a
// difference waits for its use.
FlowValue Walker::merged(const Location& at, const std::string& name, const Formula& condition,
                         const FlowValue& a, const FlowValue& b) {
  FlowValue out = a;
  out.origins.insert(out.origins.end(), b.origins.begin(), b.origins.end());
  out.defined = (condition && a.defined) || (!condition && b.defined);
  out.conflict_at = at;
  if (is_wrong(a) || is_wrong(b)) {
    out.kind = FlowValue::Kind::wrong;
    out.conflict = a.conflict.empty() ? b.conflict : a.conflict;
    return out;
  }
  const auto differ = [&] {
    out.conflict =
        fmt::format("'{}' is {} in one arm and {} in the other", name, described(a), described(b));
    out.kind = FlowValue::Kind::wrong;
    return out;
  };
  if (a.kind == FlowValue::Kind::dim && b.kind == FlowValue::Kind::dim) {
    const bool same = a.dim.kind == b.dim.kind &&
                      (a.dim.kind != DimValue::Kind::integer || a.dim.integer == b.dim.integer);
    if (!same)
      out.dim = DimValue::unknown(name, true);
    else if (a.dim.kind == DimValue::Kind::truth)
      out.dim = DimValue::of_truth((condition && a.dim.truth) || (!condition && b.dim.truth));
    return out;
  }
  if (!is_value(a) || !is_value(b)) {
    const bool same =
        a.kind == b.kind && a.operand.kind == b.operand.kind && a.operand.name == b.operand.name;
    return same ? out : differ();
  }
  if (a.operand.type.kind != b.operand.type.kind || a.operand.type.row != b.operand.type.row ||
      a.slots != b.slots || !same_lengths(a, b, name, out.open))
    return differ();
  out.operand.kind = Operand::Kind::wire;
  out.operand.id = next_wire_++;
  out.operand.name = name;
  return out;
}

bool Walker::same_lengths(const FlowValue& a, const FlowValue& b, const std::string& name,
                          std::string& open) {
  const Shape &x = a.operand.type.shape, &y = b.operand.type.shape;
  if (x.size() != y.size()) return false;
  for (size_t i = 0; i < x.size(); ++i) {
    const Answer answer = dims_.proof().equal(x[i], y[i]);
    if (answer == Answer::refuted) return false;
    if (answer == Answer::open && open.empty())
      open = fmt::format(
          "cannot prove {} == {}, the lengths of '{}' in both arms; add it to require if it must "
          "hold",
          x[i].print(), y[i].print(), name);
  }
  return true;
}

// What two arms left open is told when somebody uses it.
bool Walker::settle(const FlowValue& v) {
  if (!v.open.empty()) options_.note(v.conflict_at, v.open);
  if (v.conflict.empty()) return true;
  wrong(v.conflict_at, v.conflict);
  return false;
}

}  // namespace etch
