// What an inference of shapes sees of a node, for infer() and its steps.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "ops/shape_rule.h"

namespace etch {

using Lengths = std::vector<int64_t>;

// The node, its inputs, and a way to say no.
struct InferCase {
  const Graph& graph;
  const Node& node;

  const Value& in(int i) const { return graph.value(node.inputs[static_cast<size_t>(i)]); }
  const Lengths& shape(int i) const { return in(i).shape; }
  const StateInfo* state() const {
    return node.state() < 0 ? nullptr : &graph.states[static_cast<size_t>(node.state())];
  }
  const Value* named(std::string_view name) const {
    const ValueId v = node.wire(name);
    return v == kNoValue ? nullptr : &graph.value(v);
  }

  template <class... Args>
  tl::unexpected<Error> no(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorKind::usage, "{}: {}", name(node.op),
                fmt::format(format, std::forward<Args>(args)...));
  }
};

// A node as a circuit would write it: what the language's rules (ops/) are asked about.
struct Written {
  std::vector<Operand> arguments;
  std::vector<NamedOperand> attributes;
};
Written written(const InferCase& c);

// Operations that circuits do not spell; `value` has the rows of the inputs.
Result<Value> infer_graph_op(const InferCase& c, Value value);

// Elements of a shape; -1 where it is no shape of anything.
int64_t elements_of(const Lengths& shape);

}  // namespace etch
