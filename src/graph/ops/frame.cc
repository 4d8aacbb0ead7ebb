#include "graph/ops/frame.h"

#include <cstring>

#include "base/check.h"

namespace etch::plain {
namespace {

// Where a row of a weight lies; rows of all matrices of a stack are counted through.
const uint8_t* row_at(const Graph& graph, const WeightSource& weight, int64_t row) {
  const PartData& data = weight.data;
  const int64_t bytes = row_bytes(data.dtype, data.shape.back());
  if (weight.kind == WeightSource::Kind::memory) return weight.memory + row * bytes;
  int64_t n_rows = 1;
  for (size_t i = 0; i + 1 < data.shape.size(); ++i) n_rows *= data.shape[i];
  const int64_t per_piece = n_rows / static_cast<int64_t>(data.offsets.size());
  return graph.model->bytes().data() + data.offsets[static_cast<size_t>(row / per_piece)] +
         row % per_piece * bytes;
}

template <class T>
void decode_all(const Graph& graph, const WeightSource& weight, Wire<T>& wire) {
  const int64_t columns = weight.data.shape.back();
  std::vector<float> floats(static_cast<size_t>(columns));
  for (int64_t row = 0; row < wire.width / columns; ++row) {
    const uint8_t* bytes = row_at(graph, weight, row);
    if (weight.data.dtype == DType::i32) {
      const size_t size = wire.ids.size();
      wire.ids.resize(size + static_cast<size_t>(columns));
      std::memcpy(wire.ids.data() + size, bytes, static_cast<size_t>(columns) * sizeof(int32_t));
    } else {
      info(weight.data.dtype).decode(bytes, floats.data(), columns);
      wire.real.insert(wire.real.end(), floats.begin(), floats.end());
    }
  }
}

}  // namespace

StepRows::StepRows(std::span<const InterpretRow> rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const RowAt at = {rows[i].sequence, rows[i].position, static_cast<int64_t>(i)};
    tokens.push_back(at);
    if (rows[i].wants_output) outputs.push_back(at);
    const bool last = i + 1 == rows.size() || rows[i + 1].sequence != rows[i].sequence;
    if (last) sequences.push_back(at);
  }
}

std::vector<RowAt> StepRows::of(const Value& value) const {
  std::vector<RowAt> blocks;
  switch (value.rows) {
    case Rows::once:
      return {RowAt{}};
    case Rows::tokens:
      return tokens;
    case Rows::outputs:
      return outputs;
    case Rows::sequences:
      return sequences;
    case Rows::blocks:
      for (const RowAt& at : tokens)
        if ((at.position + 1) % value.block == 0)
          blocks.push_back({at.sequence, at.position + 1 - value.block, at.token});
  }
  return blocks;
}

template <class T>
const Wire<T>& Frame<T>::wire(ValueId v) {
  Wire<T>& wire = wires[static_cast<size_t>(v)];
  if (const WeightSource* weight = graph.weight_of(v); weight && !wire.ready) {
    wire = {.ready = true, .rows = 1, .width = graph.value(v).elements()};
    decode_all(graph, *weight, wire);
  }
  ETCH_CHECK(wire.ready, "{} is read before it is made", graph.value(v).name);
  return wire;
}

template <class T>
const Wire<T>* Frame<T>::named(std::string_view name) {
  const ValueId v = node->wire(name);
  return v == kNoValue ? nullptr : &wire(v);
}

template <class T>
Wire<T>& Frame<T>::out(int i) {
  Wire<T>& wire = wires[static_cast<size_t>(node->outputs[static_cast<size_t>(i)])];
  if (wire.ready) return wire;
  const Value& value = out_type(i);
  wire = {.ready = true,
          .rows = static_cast<int64_t>(step.of(value).size()),
          .width = value.elements()};
  const size_t elements = static_cast<size_t>(wire.rows * wire.width);
  if (value.kind == Value::Kind::real || value.kind == Value::Kind::experts)
    wire.real.resize(elements);
  if (value.kind == Value::Kind::ids || value.kind == Value::Kind::experts)
    wire.ids.resize(elements);
  if (value.kind == Value::Kind::selection) wire.chosen.resize(elements);
  return wire;
}

template <class T>
KeptState& Frame<T>::state(int32_t sequence, int index) const {
  std::vector<KeptState>& states = kept[sequence];
  states.resize(graph.states.size());
  KeptState& state = states[static_cast<size_t>(index)];
  const StateInfo& type = graph.states[static_cast<size_t>(index)];
  if (state.k.empty() && type.kind == StateInfo::Kind::last)
    state.k.assign(static_cast<size_t>(type.n * type.d_k), 0.0);
  if (state.k.empty() && type.kind == StateInfo::Kind::matrix)
    state.k.assign(static_cast<size_t>(type.n * type.d_k * type.d_v), 0.0);
  return state;
}

template <class T>
MatrixRows<T>::MatrixRows(Frame<T>& frame, int input) : graph_(frame.graph) {
  const ValueId v = frame.node->inputs[static_cast<size_t>(input)];
  const Value& value = frame.graph.value(v);
  n_columns_ = value.shape.back();
  n_rows_ = value.shape[value.shape.size() - 2];
  weight_ = frame.graph.weight_of(v);
  if (!weight_) {
    numbers_ = frame.wire(v).real.data();
    return;
  }
  floats_.resize(static_cast<size_t>(n_columns_));
  decoded_.resize(static_cast<size_t>(n_columns_));
}

template <class T>
const T* MatrixRows<T>::row(int64_t matrix, int64_t i) {
  if (!weight_) return numbers_ + (matrix * n_rows_ + i) * n_columns_;
  const uint8_t* bytes = row_at(graph_, *weight_, matrix * n_rows_ + i);
  info(weight_->data.dtype).decode(bytes, floats_.data(), n_columns_);
  decoded_.assign(floats_.begin(), floats_.end());
  return decoded_.data();
}

template struct Frame<float>;
template struct Frame<double>;
template class MatrixRows<float>;
template class MatrixRows<double>;

}  // namespace etch::plain
