// Where values and weights lie, for the calls that use them.
#include <algorithm>

#include <fmt/core.h>

#include "lower/drafter.h"

namespace etch {

std::vector<int64_t> tight_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 4;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

int64_t count_elements(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (const int64_t length : shape) n *= length;
  return n;
}

bool is_tight(const Operand& x) {
  const std::vector<int64_t> tight = tight_strides(x.shape);
  for (size_t i = 0; i < x.shape.size(); ++i)
    if (x.shape[i] != 1 && x.strides[i] != tight[i]) return false;
  return x.rows == Rows::once || x.row_stride == 4 * count_elements(x.shape);
}

// ---- values ------------------------------------------------------------------------------------

Operand Drafter::make(std::string name, Rows rows, std::vector<int64_t> shape,
                      Representation representation) {
  const int64_t bytes = 4 * count_elements(shape);
  Affine size;
  (rows == Rows::tokens    ? size.per_row
   : rows == Rows::outputs ? size.per_output
                           : size.fixed) = bytes;
  const int32_t slot =
      draft.add_slot({.name = std::move(name), .representation = representation, .size = size});
  std::vector<int64_t> strides = tight_strides(shape);
  return {{Space::arena, 0, slot},
          rows,
          rows == Rows::once ? 0 : bytes,
          std::move(shape),
          std::move(strides)};
}

Operand Drafter::make(ValueId v) {
  const Value& value = this->value(v);
  const int32_t output = output_slot(v);
  Operand made;
  if (output >= 0) {
    const int64_t bytes = 4 * count_elements(value.shape);
    made = {{Space::output, 0, output},
            value.rows,
            value.rows == Rows::once ? 0 : bytes,
            value.shape,
            tight_strides(value.shape)};
  } else {
    made = make(value.name, value.rows, value.shape,
                value.kind == Value::Kind::ids ? Representation::i32 : Representation::f32);
    draft.slot(made.place.buffer).value = v;
  }
  operands_[v] = made;
  return made;
}

void Drafter::define(ValueId v, Operand operand) { operands_[v] = std::move(operand); }

Result<Operand> Drafter::operand(ValueId v) {
  if (const auto it = operands_.find(v); it != operands_.end()) return it->second;
  const WeightView* w = weight(v);
  if (w == nullptr)
    return fail(ErrorKind::unsupported, "'{}' cannot be used as numbers here", value(v).name);
  const Place at = ETCH_TRY(floats(v));
  return operands_[v] = Operand{at, Rows::once, 0, w->shape, tight_strides(w->shape)};
}

// ---- weights -----------------------------------------------------------------------------------

const WeightView* Drafter::weight(ValueId v) const {
  const auto it = weights_.find(v);
  return it == weights_.end() ? nullptr : &it->second;
}

Result<Place> Drafter::floats(ValueId v) {
  if (v == kNoValue) return Place{};
  const WeightView* w = weight(v);
  if (w == nullptr) {
    const Operand x = ETCH_TRY(operand(v));
    if (x.rows == Rows::once && is_tight(x)) return x.place;
    return fail(ErrorKind::unsupported, "'{}' must be a weight or a constant", value(v).name);
  }
  // Kernels read float32 where it lies; a file may place it at any multiple of its alignment.
  if (w->dtype == DType::f32 && w->offsets.size() == 1 && w->offsets[0] % 4 == 0) return w->at();
  return dequantised(*w);
}

Result<Place> Drafter::dequantised(const WeightView& w) {
  const DTypeInfo& type = info(w.dtype);
  constexpr int64_t kMostElements = int64_t{1} << 24;  // these are norm weights and biases
  const int64_t n = count_elements(w.shape);
  const std::pair<int64_t, int64_t> key = {w.offsets[0], n};
  if (const auto known = dequantised_.find(key); known != dequantised_.end()) return known->second;
  if (type.decode == nullptr || n > kMostElements || w.shape.empty() ||
      w.shape.back() % type.block_elements != 0)
    return fail(ErrorKind::unsupported,
                "tensor '{}' ({}, {} elements) cannot be used as float32; only matrices of linear "
                "and embed may have this type",
                w.tensor, type.name, n);
  std::vector<float> numbers(static_cast<size_t>(n));
  const int64_t each = n / static_cast<int64_t>(w.offsets.size());
  for (size_t m = 0; m < w.offsets.size(); ++m) {
    const int64_t inside = w.offsets[m] & ((int64_t{1} << 56) - 1);
    const bool memory = w.source->kind == WeightSource::Kind::memory;
    const uint8_t* from =
        memory ? lowered.weight_bases[0] + inside : graph.model->bytes().data() + inside;
    type.decode(from, numbers.data() + static_cast<int64_t>(m) * each, each);
  }
  return dequantised_[key] = constants.add_numbers<float>(numbers);
}

Result<WeightView> view_weight(const Graph& graph, const Lowered& lowered,
                               const WeightSource& source, std::string name) {
  const PartData& data = source.data;
  WeightView w = {&source, data.weight != nullptr ? data.weight->name : name, data.dtype,
                  data.shape, data.offsets};
  if (source.kind == WeightSource::Kind::file) {
    if (graph.model == nullptr || w.offsets.empty())
      return fail(ErrorKind::internal, "weight '{}' lies in no file", name);
    return w;
  }
  // Memory: offsets count from the first base, marked in the top byte (lowered.h).
  const auto from = reinterpret_cast<intptr_t>(source.memory);
  const int64_t offset =
      (int64_t{1} << 56) + (from - reinterpret_cast<intptr_t>(lowered.weight_bases[0]));
  w.offsets.assign(1, offset);
  if (w.shape.size() == 3) {
    const int64_t matrix = w.shape[1] * row_bytes(w.dtype, w.shape[2]);
    for (int64_t i = 1; i < w.shape[0]; ++i) w.offsets.push_back(offset + i * matrix);
  }
  return w;
}

}  // namespace etch
