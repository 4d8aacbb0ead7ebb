// Frame: what the plain evaluation of an operation sees of a step: its node, its inputs as rows of
// numbers, its outputs to fill, the rows of the step, and what sequences keep. T is float or
// double.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "graph/interpret.h"

namespace etch::plain {

// A value's numbers in one step.
template <class T>
struct Wire {
  bool ready = false;
  int64_t rows = 0, width = 0;               // width: elements of a row
  std::vector<T> real;                       // [rows, width]; of experts: the weights
  std::vector<int32_t> ids;                  // [rows, width]; of experts: which
  std::vector<std::vector<int64_t>> chosen;  // of a selection: ascending positions, [rows, width]

  // Values with one row in all serve every row.
  int64_t at(int64_t row) const { return (rows == 1 ? 0 : row) * width; }
  const T* row(int64_t r) const { return real.data() + at(r); }
  T* row(int64_t r) { return real.data() + at(r); }
};

// Whose a row is and where it stands in its sequence.
struct RowAt {
  int32_t sequence = 0;
  int64_t position = 0;  // of a block: of its first token; of a sequence: of its last
  int64_t token = 0;     // which of the step's tokens (the last of a block or a sequence)
};

// The rows of a step.
struct StepRows {
  std::vector<RowAt> tokens, outputs, sequences;

  explicit StepRows(std::span<const InterpretRow> rows);
  std::vector<RowAt> of(const Value& value) const;  // one entry for values with one row in all
};

template <class T>
struct Frame {
  const Graph& graph;
  const StepRows& step;
  KeptStates& kept;
  std::vector<Wire<T>>& wires;  // by value
  const Node* node = nullptr;

  const Value& type(int input) const {
    return graph.value(node->inputs[static_cast<size_t>(input)]);
  }
  const Value& out_type(int i = 0) const {
    return graph.value(node->outputs[static_cast<size_t>(i)]);
  }
  const Wire<T>& wire(ValueId v);  // weights are decoded when asked for
  const Wire<T>& in(int i) { return wire(node->inputs[static_cast<size_t>(i)]); }
  const Wire<T>* named(std::string_view name);  // null if absent
  Wire<T>& out(int i = 0);                      // with its rows and room for its numbers
  std::vector<RowAt> rows() const { return step.of(out_type()); }

  // Numbers of dims meet wires as floats.
  T number(std::string_view name, double otherwise = 0) const {
    return static_cast<T>(static_cast<float>(node->number(name, otherwise)));
  }
  const StateInfo& state_type() const { return graph.states[static_cast<size_t>(node->state())]; }
  KeptState& state(int32_t sequence, int index) const;  // made, empty or zero, at its first use
  KeptState& state(int32_t sequence) const { return state(sequence, node->state()); }
};

// Rows of a matrix or of a stack of them, decoded one at a time where they are weights.
template <class T>
class MatrixRows {
 public:
  MatrixRows(Frame<T>& frame, int input);
  int64_t count() const { return n_rows_; }  // of one matrix
  int64_t columns() const { return n_columns_; }
  const T* row(int64_t matrix, int64_t i);  // valid until the next call

 private:
  const Graph& graph_;
  const WeightSource* weight_ = nullptr;  // or the numbers of a wire
  const T* numbers_ = nullptr;
  int64_t n_rows_ = 0, n_columns_ = 0;
  std::vector<float> floats_;
  std::vector<T> decoded_;
};

// ---- the operations (one file each, or one for a small family)

template <class T>
using Evaluation = Status (*)(Frame<T>&);
template <class T>
Evaluation<T> evaluation_of(Op op);  // table.cc

}  // namespace etch::plain
