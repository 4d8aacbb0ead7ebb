// fold_constants: nodes whose inputs are constants become constants; factors of one disappear.
//
// Only operations that IEEE 754 rounds exactly, and those that move numbers, are folded: their bits
// are the same on every machine, while exp and its like are the kernels' own. Weights stay in the
// file. x + 0 is not x (it turns -0 into +0), x * 1, x / 1 and x - 0 are.
#include <algorithm>

#include "graph/ops/frame.h"
#include "graph/passes/passes.h"

namespace etch {
namespace {

bool is_exact(Op op) {
  constexpr Op kExact[] = {
      Op::add,   Op::sub,     Op::mul,   Op::div,    Op::sqrt,    Op::floor,     Op::square,
      Op::relu,  Op::clamp,   Op::heads, Op::merge,  Op::reshape, Op::transpose, Op::index,
      Op::slice, Op::permute, Op::view,  Op::concat, Op::stack,   Op::repeat,    Op::zeros};
  return std::find(std::begin(kExact), std::end(kExact), op) != std::end(kExact);
}

bool is_identity(const Node& node) {
  const auto right_is = [&](double number) {
    return node.find("right") && node.number("right") == number;
  };
  const bool left_one = node.find("left") && node.number("left") == 1;
  return (node.op == Op::mul && (right_is(1) || left_one)) || (node.op == Op::div && right_is(1)) ||
         (node.op == Op::sub && right_is(0));
}

// The numbers of a node whose inputs are constants, by its plain evaluation.
std::vector<float> evaluate(const Graph& graph, const Node& node) {
  const plain::StepRows no_rows({});
  KeptStates no_states;
  std::vector<plain::Wire<float>> wires(graph.values.size());
  for (const ValueId v : node.inputs) {
    const auto& values = std::get<std::vector<float>>(*graph.maker(v).find("values"));
    wires[static_cast<size_t>(v)] = {.ready = true,
                                     .rows = 1,
                                     .width = graph.value(v).elements(),
                                     .real = values,
                                     .ids = {},
                                     .chosen = {}};
  }
  plain::Frame<float> frame{graph, no_rows, no_states, wires, &node};
  return plain::evaluation_of<float>(node.op)(frame).has_value() ? std::move(frame.out().real)
                                                          : std::vector<float>{};
}

}  // namespace

void fold_constants(Graph& graph) {
  Replacements replacements(graph);
  for (Node& node : graph.nodes) {
    if (node.dead) continue;
    replacements.apply(node);
    const bool known = is_exact(node.op) && node.outputs.size() == 1 &&
                       std::all_of(node.inputs.begin(), node.inputs.end(),
                                   [&](ValueId v) { return graph.maker(v).op == Op::constant; });
    if (known) {
      const std::vector<int64_t> shape = graph.value(node.outputs[0]).shape;
      std::vector<float> values = evaluate(graph, node);
      node.op = Op::constant;
      node.inputs.clear();
      node.attributes = {{"values", std::move(values)}, {"shape", shape}};
    } else if (is_identity(node) && graph.value(node.inputs[0]).kind == Value::Kind::real &&
               graph.value(node.outputs[0]).kind == Value::Kind::real) {
      replacements.set(node.outputs[0], node.inputs[0]);
      node.dead = true;
    }
  }
  replacements.apply_to_outputs(graph);
}

}  // namespace etch
