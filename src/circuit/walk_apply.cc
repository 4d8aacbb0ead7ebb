// Applications: an operation with its operands, its shapes proved, handed to the sink.
#include <algorithm>

#include "circuit/walker.h"

namespace etch {
namespace {

bool is_chosen(const FlowValue& v) {
  return v.kind == FlowValue::Kind::operand && v.operand.chosen;
}

}  // namespace

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
  if (op == Op::linear && is_chosen(arguments[1]))
    return emit_experts(std::move(arguments), places, at);
  for (size_t i = 0; i < arguments.size(); ++i)
    if (is_chosen(arguments[i])) {
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
  tell(check.findings, places, at);
  if (check.failed()) return {};
  if (check.results.size() != n) {
    wrong(at, n == 0 ? fmt::format("{} gives a value that nothing takes", info(op).spelled)
                     : fmt::format("{} gives {} value{}, {} {} at the left", info(op).spelled,
                                   check.results.size(), check.results.size() == 1 ? "" : "s", n,
                                   n == 1 ? "name is" : "names are"));
    return {};
  }
  if (info(op).family == OpFamily::mixing) note_states(op, operands, at);
  std::vector<FlowValue> results;
  std::vector<Operand> wires;
  for (Type& t : check.results) {
    results.push_back(new_wire(std::move(t), slots));
    wires.push_back(results.back().operand);
  }
  if (!send(op, operands, attributes, wires, at)) return {};
  return results;
}

FlowValue Walker::emit_one(Op op, std::vector<FlowValue> arguments,
                           const std::vector<Location>& places, const Location& at) {
  std::vector<FlowValue> out = emit(op, std::move(arguments), places, {}, 1, at);
  return out.empty() ? FlowValue{} : std::move(out[0]);
}

void Walker::tell(const std::vector<ShapeFinding>& findings, const std::vector<Location>& places,
                  const Location& at) {
  for (const ShapeFinding& f : findings) {
    const bool placed = f.argument >= 0 && static_cast<size_t>(f.argument) < places.size();
    const Location& where = placed ? places[static_cast<size_t>(f.argument)] : at;
    if (f.answer == Answer::refuted)
      wrong(where, f.message);
    else
      options_.note(where, f.message);
  }
}

FlowValue Walker::new_wire(Type type, bool slots) {
  FlowValue v = FlowValue::of({});
  v.slots = slots;
  v.operand.kind = Operand::Kind::wire;
  v.operand.id = next_wire_++;
  v.operand.type = std::move(type);
  return v;
}

bool Walker::send(Op op, std::span<const Operand> operands,
                  std::span<const NamedOperand> attributes, std::span<const Operand> wires,
                  const Location& at) {
  if (!has_sink() || failed_) return true;
  const int layer = layers_.empty() ? -1 : static_cast<int>(layers_.back());
  const Application application{op, operands, attributes, wires, at, layer};
  if (options_.sink->apply(application).has_value()) return true;
  failed_ = true;
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

void Walker::note_states(Op op, const std::vector<Operand>& operands, const Location& at) {
  for (const Operand& o : operands)
    if (o.kind == Operand::Kind::state) {
      used_states.insert(state_of(o));
      const bool reads_only = op == Op::attention && operands.size() == 2;
      if (!reads_only) note_write(o, at);
    }
}

void Walker::note_write(const Operand& state, const Location& at) {
  written_states.insert(state_of(state));
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
