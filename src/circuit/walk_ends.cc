// The ends of a flow: what goes in, and what must come out.
#include <algorithm>

#include "circuit/walker.h"

namespace etch {
namespace {

constexpr std::string_view kInputs[] = {"tokens", "positions", "hidden"};
constexpr std::string_view kOutputs[] = {"logits", "hidden", "embedding", "scores"};

}  // namespace

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
    if (!settle(v) || is_wrong(v)) continue;
    if (v.kind != FlowValue::Kind::operand || !v.operand.is_wire()) {
      wrong(o.name.at, fmt::format("'{}' is listed as an output and is no wire", name));
      continue;
    }
    if (!o.maybe && follows(assumptions(), v.defined) != Answer::proved) {
      wrong(o.name.at, fmt::format("'{}' is assigned in one arm only; say {}? if it may be missing",
                                   name, name));
      continue;
    }
    fits_output(o.name, v.operand.type);
    if (name == "hidden" && flow.name.text.empty()) hidden = v.operand.type;
    if (has_sink() && !failed_) options_.sink->output(v.operand, name);
  }
  return !failed_;
}

// logits are [n_vocab], all else is one row.
void Walker::fits_output(const Name& output, const Type& type) {
  const Shape& shape = type.shape;
  if (output.text != "logits" || dims_.circuit().dim("n_vocab") == nullptr) {
    if (shape.size() != 1 || type.kind != Type::Kind::real)
      wrong(output.at, fmt::format("{} must be one row [d], it is {}", output.text, print(shape)));
    return;
  }
  const DimValue n_vocab = dims_.value("n_vocab");
  const Answer answer = n_vocab.kind == DimValue::Kind::wrong || shape.size() != 1
                            ? Answer::refuted
                            : dims_.proof().equal(shape[0], dims_.length(n_vocab));
  if (answer == Answer::refuted)
    wrong(output.at, fmt::format("logits must be [n_vocab], it is {}", print(shape)));
  if (answer == Answer::open)
    options_.note(output.at,
                  fmt::format("cannot prove {} == n_vocab; add it to require if it must hold",
                              shape[0].print()));
}

}  // namespace etch
