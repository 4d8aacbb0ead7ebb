// Calls in a flow: defs are walked in place, operations are applied.
#include <algorithm>

#include "circuit/diagnostics.h"
#include "circuit/walker.h"

namespace etch {
namespace {

const AttributeInfo* attribute_of(const OpInfo& op, std::string_view name) {
  for (const AttributeInfo& a : op.attributes)
    if (a.name == name) return &a;
  return nullptr;
}

// A cap or a pooling that the file leaves out.
bool does_nothing(Op op, const std::vector<FlowValue>& arguments) {
  if (op == Op::pool) return is_none(arguments[1]);
  return op == Op::softcap && (is_none(arguments[1]) || is_zero(arguments[1]));
}

}  // namespace

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
    if (is_wrong(v)) return {};
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
  if (std::any_of(results.begin(), results.end(), [](const FlowValue& v) { return is_wrong(v); }))
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
      ok = ok && !is_wrong(arguments.back());
      continue;
    }
    const AttributeInfo* at = attribute_of(i, a.attribute);
    if (at == nullptr) {
      std::vector<std::string_view> known;
      for (const AttributeInfo& x : i.attributes) known.push_back(x.name);
      wrong(a.at, fmt::format("{} has no attribute '{}'{}", i.spelled, a.attribute,
                              suggestion(a.attribute, known)));
      ok = false;
      continue;
    }
    ok = attribute(e, a, *at, op, attributes) && ok;
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
  const auto row = [&](const NamedOperand& a) { return attribute_of(i, a.name); };
  std::stable_sort(attributes.begin(), attributes.end(),
                   [&](const NamedOperand& a, const NamedOperand& b) { return row(a) < row(b); });
  if (n == 1 && does_nothing(op, arguments)) return {arguments[0]};
  if (options_.call) tell_call(e, arguments, places, attributes);
  return emit(op, std::move(arguments), places, std::move(attributes), n, e.at);
}

void Walker::tell_call(const Expr& e, const std::vector<FlowValue>& arguments,
                       std::vector<Location> places, const std::vector<NamedOperand>& attributes) {
  std::vector<Operand> operands;
  for (const FlowValue& v : arguments) operands.push_back(to_operand(v));
  for (const NamedOperand& a : attributes)
    for (const Argument& written : e.arguments)
      if (written.attribute == a.name) {
        places.push_back(written.value->at);
        operands.push_back(a.value);
      }
  options_.call(e.at, places, operands);
}

}  // namespace etch
