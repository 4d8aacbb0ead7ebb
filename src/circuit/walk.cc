#include "circuit/walk.h"

#include <algorithm>

#include "circuit/walker.h"

namespace etch {
namespace {

constexpr int64_t kMostSteps = 2'000'000;  // statements walked, all layers and defs together
constexpr std::string_view kInputs[] = {"tokens", "positions", "hidden"};
constexpr std::string_view kOutputs[] = {"logits", "hidden", "embedding", "scores"};

}  // namespace

const Operand* Application::attribute(std::string_view name) const {
  for (const NamedOperand& a : attributes)
    if (a.name == name) return &a.value;
  return nullptr;
}

Walker::Walker(Dims& dims, Options options)
    : dims_(dims), options_(std::move(options)), declarations_(declarations(dims.circuit())) {
  for (const PartDeclaration& d : declarations_) parts_[d.part->name.text].push_back(&d);
  if (options_.binding == nullptr) return;
  const Binding& b = *options_.binding;
  for (size_t i = 0; i < b.parts.size(); ++i)
    bound_parts_[{b.parts[i].name, b.parts[i].layer}] = static_cast<int>(i);
  for (size_t i = 0; i < b.states.size(); ++i)
    bound_states_[b.states[i].name] = static_cast<int>(i);
}

bool Walker::walk(const Flow& flow) {
  frame_.clear();
  path_.clear();
  writes_.clear();
  failed_ = false;
  if (!inputs(flow)) return false;
  statements(flow.body);
  if (!failed_) outputs(flow);
  return !failed_;
}

FlowValue Walker::wrong(const Location& at, std::string message, ErrorKind kind) {
  failed_ = true;
  options_.report(at, kind, std::move(message));
  return {};
}

std::vector<Formula> Walker::assumptions() const {
  std::vector<Formula> all = path_;
  all.insert(all.end(), dims_.facts().begin(), dims_.facts().end());
  return all;
}

// Names that hold values of dims, seen by the evaluator of dims.
Dims::Lookup Walker::lookup() const {
  return [this](std::string_view n) -> const DimValue* {
    const auto at = frame_.find(n);
    return at != frame_.end() && at->second.kind == FlowValue::Kind::dim ? &at->second.dim
                                                                         : nullptr;
  };
}

void Walker::mark_used(const FlowValue& v) {
  used_origins.insert(v.origins.begin(), v.origins.end());
}

bool Walker::inputs(const Flow& flow) {
  for (const Name& n : flow.inputs) {
    if (std::find(std::begin(kInputs), std::end(kInputs), n.text) == std::end(kInputs)) {
      wrong(n.at, fmt::format("a flow's inputs are tokens, positions and hidden, there is no '{}'",
                              n.text));
      return false;
    }
    FlowValue v;
    v.kind = FlowValue::Kind::operand;
    v.operand.kind = Operand::Kind::wire;
    v.operand.name = n.text;
    v.operand.id = next_wire_++;
    v.operand.type.kind = n.text == "tokens"      ? Type::Kind::ids
                          : n.text == "positions" ? Type::Kind::positions
                                                  : Type::Kind::real;
    if (n.text == "hidden") {
      if (!hidden) {
        wrong(n.at, "'hidden' is an input here, but the main flow has no output of this name");
        return false;
      }
      v.operand.type = *hidden;
    }
    v.origins = {n.at.begin};
    assignments[n.at.begin] = n;
    if (has_sink()) options_.sink->input(v.operand, n.text);
    frame_[n.text] = std::move(v);
  }
  return true;
}

bool Walker::outputs(const Flow& flow) {
  for (const FlowOutput& o : flow.outputs) {
    const std::string& name = o.name.text;
    if (std::find(std::begin(kOutputs), std::end(kOutputs), name) == std::end(kOutputs)) {
      wrong(
          o.name.at,
          fmt::format("a flow's outputs are logits, hidden, embedding and scores, there is no '{}'",
                      name));
      continue;
    }
    const auto at = frame_.find(name);
    // An input may not simply be an output again; `hidden` of a draft flow is assigned before.
    const bool assigned = at != frame_.end() &&
                          std::none_of(flow.inputs.begin(), flow.inputs.end(), [&](const Name& n) {
                            return at->second.origins == std::vector<int>{n.at.begin};
                          });
    if (!assigned) {
      const bool nothing_to_draft = !dims_.symbolic() && flow.name.text == "draft";
      if (!o.maybe && !nothing_to_draft)
        wrong(o.name.at, fmt::format("'{}' is listed as an output and never assigned", name));
      continue;
    }
    const FlowValue& v = at->second;
    mark_used(v);
    if (!settle(v) || v.kind == FlowValue::Kind::wrong) continue;
    if (v.kind != FlowValue::Kind::operand || !v.operand.is_wire()) {
      wrong(o.name.at, fmt::format("'{}' is listed as an output and is no wire", name));
      continue;
    }
    if (!o.maybe && follows(assumptions(), v.defined) != Answer::proved) {
      wrong(o.name.at, fmt::format("'{}' is assigned in one arm only; say {}? if it may be missing",
                                   name, name));
      continue;
    }
    const Shape& shape = v.operand.type.shape;
    if (name == "logits" && dims_.circuit().dim("n_vocab") != nullptr) {
      const DimValue n_vocab = dims_.value("n_vocab");
      const Answer answer =
          n_vocab.kind == DimValue::Kind::wrong || shape.size() != 1 ? Answer::refuted
          : n_vocab.kind == DimValue::Kind::integer
              ? dims_.proof().equal(shape[0], n_vocab.integer)
              : dims_.proof().equal(shape[0], Polynomial(Unknown{n_vocab.order, n_vocab.text}));
      if (answer == Answer::refuted)
        wrong(o.name.at, fmt::format("logits must be [n_vocab], it is {}", print(shape)));
      if (answer == Answer::open && options_.note)
        options_.note(o.name.at,
                      fmt::format("cannot prove {} == n_vocab; add it to require if it must hold",
                                  shape[0].print()));
    } else if (shape.size() != 1 || v.operand.type.kind != Type::Kind::real) {
      wrong(o.name.at, fmt::format("{} must be one row [d], it is {}", name, print(shape)));
    }
    if (name == "hidden" && flow.name.text.empty()) hidden = v.operand.type;
    if (has_sink() && !failed_) options_.sink->output(v.operand, name);
  }
  return !failed_;
}

bool Walker::statements(const std::vector<Statement>& body) {
  bool ok = true;
  for (const Statement& s : body) {
    if (++steps_ > kMostSteps) {
      if (steps_ == kMostSteps + 1)
        wrong(s.at, "this flow is too long when its loops are unrolled");
      return false;
    }
    ok = statement(s) && ok;
    if (!ok && !dims_.symbolic()) return false;  // with numbers one mistake is enough
  }
  return ok;
}

bool Walker::statement(const Statement& s) {
  switch (s.kind) {
    case Statement::Kind::assign:
      return assign(s);
    case Statement::Kind::append:
      return !failed_ && (evaluate_many(*s.value, 0), !failed_);
    case Statement::Kind::each:
      return each(s);
    case Statement::Kind::branch:
      return branch(s);
  }
  return false;
}

bool Walker::assign(const Statement& s) {
  std::vector<FlowValue> values = evaluate_many(*s.value, s.targets.size());
  bool ok = values.size() == s.targets.size();
  values.resize(s.targets.size());
  for (size_t i = 0; i < s.targets.size(); ++i) {
    FlowValue& v = values[i];
    const Name& target = s.targets[i];
    ok = ok && v.kind != FlowValue::Kind::wrong;
    v.defined = Formula(true);
    v.origins = {target.at.begin};
    assignments[target.at.begin] = target;
    if (v.kind == FlowValue::Kind::operand && v.operand.is_wire()) {
      v.operand.name = target.text;
      if (has_sink() && !failed_) options_.sink->named(v.operand, target.text);
    }
    frame_[target.text] = std::move(v);
  }
  return ok;
}

// ---- each ----

bool Walker::each(const Statement& s) {
  Polynomial first, last;
  const Dims::Lookup scope = lookup();
  for (const auto& [e, out] :
       {std::pair(s.range.first.get(), &first), std::pair(s.range.last.get(), &last)}) {
    if (!dims_.is_dims(*e, scope)) {
      wrong(e->at, "a range is made of dims");
      return false;
    }
    if (!dims_.integer(dims_.evaluate(*e, scope), e->at, *out)) {
      failed_ = true;
      return false;
    }
  }
  if (dims_.symbolic()) return each_once(s, first, last);
  for (int64_t l = first.constant(); l < last.constant(); ++l) {
    layers_.push_back(l);
    const bool ok = each_turn(s, l);
    layers_.pop_back();
    if (!ok) return false;
  }
  return true;
}

bool Walker::each_turn(const Statement& s, const Polynomial& l) {
  std::optional<FlowValue> shadowed;
  if (const auto at = frame_.find(s.variable.text); at != frame_.end()) shadowed = at->second;
  FlowValue variable = of_dim(DimValue::of(l));
  variable.defined = Formula(true);
  frame_[s.variable.text] = variable;
  const bool ok = statements(s.body);
  if (shadowed)
    frame_[s.variable.text] = *shadowed;
  else
    frame_.erase(s.variable.text);
  return ok;
}

// Without a file: one turn for a layer called by the loop's variable; what is carried must come out
// as it went in.
bool Walker::each_once(const Statement& s, const Polynomial& first, const Polynomial& last) {
  const Polynomial l = any_layer(s.variable.text);
  const Frame before = frame_;
  const size_t depth = path_.size();
  std::set<int> used_before = std::exchange(used_origins, {});
  path_.push_back(!less(dims_.proof(), l, first));
  path_.push_back(less(dims_.proof(), l, last));
  bool ok = each_turn(s, l);
  path_.resize(depth);
  for (auto& [name, v] : frame_) {
    const auto was = before.find(name);
    if (was == before.end() || was->second.origins == v.origins) continue;
    // Carried: a turn reads what the turn before assigned.
    const std::vector<int>& from = was->second.origins;
    const bool carried = std::any_of(from.begin(), from.end(),
                                     [&](int origin) { return used_origins.contains(origin); });
    if (carried) {
      mark_used(v);
      ok = keeps_shape(s, name, was->second, v) && ok;
    }
    v.origins.insert(v.origins.end(), from.begin(), from.end());
  }
  used_origins.merge(used_before);
  return ok;
}

bool Walker::keeps_shape(const Statement& s, const std::string& name, const FlowValue& was,
                         FlowValue& v) {
  const auto is_wire = [](const FlowValue& x) {
    return x.kind == FlowValue::Kind::operand && x.operand.is_wire();
  };
  if (!is_wire(was) || !is_wire(v)) return true;
  const Shape a = was.operand.type.shape, b = v.operand.type.shape;
  bool same = a.size() == b.size();
  for (size_t i = 0; same && i < a.size(); ++i) {
    const Answer answer = dims_.proof().equal(a[i], b[i]);
    same = answer != Answer::refuted;
    if (answer == Answer::open && options_.note)
      options_.note(s.at, fmt::format("cannot prove {} == {}; add it to require if it must hold",
                                      a[i].print(), b[i].print()));
  }
  if (same) return true;
  wrong(s.at,
        fmt::format("'{}' is {} before the loop and {} after one turn", name, print(a), print(b)));
  v.kind = FlowValue::Kind::wrong;  // one message is enough
  return false;
}

// ---- if ----

bool Walker::branch(const Statement& s) {
  const Dims::Lookup scope = lookup();
  if (!dims_.is_dims(*s.value, scope)) {
    wrong(s.value->at,
          "a condition is made of dims: what tensors hold is not known when a circuit is bound");
    return false;
  }
  const DimValue v = dims_.evaluate(*s.value, scope);
  if (v.kind == DimValue::Kind::wrong || dims_.is_absent(v, s.value->at)) {
    failed_ = true;
    return false;
  }
  const Formula c = dims_.truth(v, s.value->at);
  const Answer answer = follows(assumptions(), c);
  if (c.is_known() || answer != Answer::open)
    return statements(answer == Answer::proved ? s.body : s.otherwise);
  const Frame before = frame_;
  const auto arm = [&](const std::vector<Statement>& body, const Formula& holds, std::string said) {
    path_.push_back(holds);
    conditions_.push_back(std::move(said));
    const bool ok = statements(body);
    conditions_.pop_back();
    path_.pop_back();
    return ok;
  };
  bool ok = arm(s.body, c, print(*s.value));
  const Frame a = std::exchange(frame_, before);
  const bool simple = s.value->kind == Expr::Kind::name || s.value->kind == Expr::Kind::call;
  const std::string said = print(*s.value);
  ok = arm(s.otherwise, !c, simple ? "not " + said : fmt::format("not ({})", said)) && ok;
  const Frame b = std::exchange(frame_, before);
  merge(s, c, before, a, b);
  return ok;
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
  if (a.kind == FlowValue::Kind::wrong || b.kind == FlowValue::Kind::wrong) {
    out.kind = FlowValue::Kind::wrong;
    out.conflict = a.conflict.empty() ? b.conflict : a.conflict;
    return out;
  }
  const auto what = [&](const FlowValue& v) {
    if (v.kind == FlowValue::Kind::operand && (v.operand.is_wire() || v.operand.is_part()))
      return print(v.operand.type.shape);
    return v.kind == FlowValue::Kind::dim ? print(v.dim) : std::string(etch::name(v.operand.kind));
  };
  const auto differ = [&] {
    out.conflict = fmt::format("'{}' is {} in one arm and {} in the other", name, what(a), what(b));
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
  const auto is_value = [](const FlowValue& v) {
    return v.kind == FlowValue::Kind::operand && (v.operand.is_wire() || v.operand.is_part());
  };
  if (!is_value(a) || !is_value(b)) {
    const bool same =
        a.kind == b.kind && a.operand.kind == b.operand.kind && a.operand.name == b.operand.name;
    return same ? out : differ();
  }
  const Shape &x = a.operand.type.shape, &y = b.operand.type.shape;
  if (x.size() != y.size() || a.operand.type.kind != b.operand.type.kind ||
      a.operand.type.row != b.operand.type.row || a.slots != b.slots)
    return differ();
  for (size_t i = 0; i < x.size(); ++i) {
    const Answer answer = dims_.proof().equal(x[i], y[i]);
    if (answer == Answer::refuted) return differ();
    if (answer == Answer::open && out.open.empty())
      out.open = fmt::format(
          "cannot prove {} == {}, the lengths of '{}' in both arms; add it to require if it must "
          "hold",
          x[i].print(), y[i].print(), name);
  }
  out.operand.kind = Operand::Kind::wire;
  out.operand.id = next_wire_++;
  out.operand.name = name;
  return out;
}

// What two arms left open is told when somebody uses it.
bool Walker::settle(const FlowValue& v) {
  if (!v.open.empty() && options_.note) options_.note(v.conflict_at, v.open);
  if (v.conflict.empty()) return true;
  wrong(v.conflict_at, v.conflict);
  return false;
}

// ---- the public walk ----

Status walk_flow(const Binding& binding, std::string_view flow_name, FlowSink& sink) {
  const Circuit& circuit = *binding.circuit;
  const Flow* flow = circuit.flow(flow_name);
  if (flow == nullptr)
    return fail(ErrorKind::unsupported, "{}: the circuit has no flow '{}'", circuit.file,
                flow_name);
  std::string errors;
  ErrorKind kind = ErrorKind::internal;
  const Dims::Report report = [&](const Location& at, ErrorKind k, const std::string& message) {
    errors += fmt::format("{}{}:{}:{}: {}", errors.empty() ? "" : "\n", circuit.file, at.line,
                          at.column, message);
    kind = k;
  };
  // A sink that fails stops the walk; its error is kept as it is.
  struct Stopping final : FlowSink {
    FlowSink& inner;
    explicit Stopping(FlowSink& sink) : inner(sink) {}
    Status status;
    void input(const Operand& wire, std::string_view name) override { inner.input(wire, name); }
    Status apply(const Application& application) override {
      if (status.has_value()) status = inner.apply(application);
      return status;
    }
    void named(const Operand& wire, std::string_view name) override { inner.named(wire, name); }
    void output(const Operand& wire, std::string_view name) override { inner.output(wire, name); }
  } stopping(sink);
  binding.dims_values->set_report(report);
  Walker walker(*binding.dims_values, {&binding, &stopping, report, nullptr});
  if (!flow->name.text.empty()) {
    // `hidden` of a draft flow has the main flow's type.
    Walker main(*binding.dims_values, {&binding, nullptr, report, nullptr});
    if (main.walk(*circuit.flow(""))) walker.hidden = main.hidden;
  }
  const bool ok = walker.walk(*flow);
  binding.dims_values->set_report(nullptr);
  if (!stopping.status.has_value()) return stopping.status;
  if (!ok || !errors.empty()) return fail(kind, "{}", errors);
  return {};
}

}  // namespace etch
