#include "circuit/walk.h"

#include <algorithm>

#include "circuit/walker.h"

namespace etch {
namespace {

constexpr int64_t kMostSteps = 2'000'000;  // statements walked, all layers and defs together

}  // namespace

const Operand* Application::attribute(std::string_view name) const {
  for (const NamedOperand& a : attributes)
    if (a.name == name) return &a.value;
  return nullptr;
}

Walker::Walker(Dims& dims, Options options)
    : dims_(dims), options_(std::move(options)), declarations_(declarations(dims.circuit())) {
  if (!options_.note) options_.note = [](const Location&, const std::string&) {};
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
    ok = ok && !is_wrong(v);
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
