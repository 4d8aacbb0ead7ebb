#include "graph/interpret.h"

#include "base/check.h"
#include "graph/ops/frame.h"

namespace etch {
namespace {

using plain::Frame;
using plain::StepRows;
using plain::Wire;

Status check_rows(std::span<const InterpretRow> rows) {
  std::map<int32_t, int32_t> last;  // position of each sequence's latest row
  for (size_t i = 0; i < rows.size(); ++i) {
    const InterpretRow& row = rows[i];
    const bool starts = i == 0 || rows[i - 1].sequence != row.sequence;
    if (row.position < 0)
      return fail(ErrorKind::usage, "row {} stands at position {}", i, row.position);
    if (starts && last.count(row.sequence))
      return fail(ErrorKind::usage, "rows of sequence {} do not stand together", row.sequence);
    if (!starts && row.position != last[row.sequence] + 1)
      return fail(ErrorKind::usage, "sequence {}: position {} follows {}", row.sequence,
                  row.position, last[row.sequence]);
    last[row.sequence] = row.position;
  }
  return {};
}

// Numbers of one step, from the first node to the last; wires live until their last reader.
template <class T>
struct Interpreter {
  const Graph& graph;
  std::span<const InterpretRow> rows;
  std::span<const InterpretInput> inputs;
  const StepRows step;
  std::vector<Wire<T>> wires;
  std::vector<int> readers;  // still to come, by value
  Frame<T> frame;
  const OnValue& on_value;

  Interpreter(const Graph& g, std::span<const InterpretRow> r, KeptStates& kept,
              std::span<const InterpretInput> i, const OnValue& told)
      : graph(g),
        rows(r),
        inputs(i),
        step(r),
        wires(g.values.size()),
        readers(g.values.size()),
        frame{graph, step, kept, wires},
        on_value(told) {
    for (const Node& node : graph.nodes)
      for (const ValueId v : node.inputs) readers[static_cast<size_t>(v)] += !node.dead;
    for (const GraphOutput& output : graph.outputs) ++readers[static_cast<size_t>(output.value)];
  }

  const InterpretInput* given(std::string_view name) const {
    for (const InterpretInput& input : inputs)
      if (input.name == name) return &input;
    return nullptr;
  }

  Status fill_input(const Node& node) {
    const std::string& name = std::get<std::string>(*node.find("name"));
    Wire<T>& wire = frame.out();
    const bool ids = frame.out_type().kind == Value::Kind::ids;
    if (const InterpretInput* input = given(name)) {
      const size_t size = ids ? input->ids.size() : input->real.size();
      const size_t wanted = static_cast<size_t>(wire.rows * wire.width);
      if (size != wanted)
        return fail(ErrorKind::usage, "input '{}' has {} numbers, {} are wanted", name, size,
                    wanted);
      wire.ids = input->ids;
      wire.real.assign(input->real.begin(), input->real.end());
      return {};
    }
    const bool tokens = name == "tokens", of_rows = ids && frame.out_type().rows == Rows::tokens;
    if (!of_rows || (!tokens && name != "positions"))
      return fail(ErrorKind::usage, "input '{}' is missing", name);
    for (size_t i = 0; i < rows.size(); ++i)
      wire.ids[i] = tokens ? rows[i].token : rows[i].position;
    return {};
  }

  Status run(const Node& node) {
    frame.node = &node;
    switch (node.op) {
      case Op::weight:
        return {};  // decoded by those who read it
      case Op::input:
        return fill_input(node);
      case Op::constant: {
        const auto& values = std::get<std::vector<float>>(*node.find("values"));
        frame.out().real.assign(values.begin(), values.end());
        return {};
      }
      default:
        return plain::evaluation_of<T>(node.op)(frame);
    }
  }

  void tell(const Node& node) const {
    for (const ValueId v : node.outputs) {
      const Wire<T>& wire = wires[static_cast<size_t>(v)];
      if (node.op == Op::weight || !wire.ready || wire.real.empty()) continue;
      std::vector<double> numbers;
      const bool experts = graph.value(v).kind == Value::Kind::experts;
      for (int64_t r = 0; r < wire.rows; ++r) {
        const auto row = r * wire.width;
        if (experts)
          numbers.insert(numbers.end(), wire.ids.begin() + row,
                         wire.ids.begin() + row + wire.width);
        numbers.insert(numbers.end(), wire.real.begin() + row,
                       wire.real.begin() + row + wire.width);
      }
      on_value(v, wire.rows, numbers);
    }
  }

  Result<Interpreted> run() {
    for (const Node& node : graph.nodes) {
      if (node.dead) continue;
      ETCH_TRY(run(node));
      if (on_value) tell(node);
      for (const ValueId v : node.inputs)
        if (--readers[static_cast<size_t>(v)] == 0) wires[static_cast<size_t>(v)] = {};
    }
    Interpreted result;
    for (const GraphOutput& output : graph.outputs) {
      const Wire<T>& wire = frame.wire(output.value);
      InterpretedOutput out = {output.name, wire.rows, graph.value(output.value).shape, {}};
      out.values.assign(wire.real.begin(), wire.real.end());
      if (wire.real.empty()) out.values.assign(wire.ids.begin(), wire.ids.end());
      result.outputs.push_back(std::move(out));
    }
    return result;
  }
};

}  // namespace

const InterpretedOutput* Interpreted::find(std::string_view name) const {
  for (const InterpretedOutput& output : outputs)
    if (output.name == name) return &output;
  return nullptr;
}

Result<Interpreted> interpret(const Graph& graph, std::span<const InterpretRow> rows,
                              KeptStates& states, Precision precision,
                              std::span<const InterpretInput> inputs, const OnValue& on_value) {
  ETCH_TRY(check_rows(rows));
  if (precision == Precision::float64)
    return Interpreter<double>(graph, rows, states, inputs, on_value).run();
  return Interpreter<float>(graph, rows, states, inputs, on_value).run();
}

}  // namespace etch
