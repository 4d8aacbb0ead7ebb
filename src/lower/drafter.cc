#include "lower/drafter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "ops/op.h"

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

// ---- the walk ----------------------------------------------------------------------------------

Status Drafter::run() {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.dead) continue;
    node_ = static_cast<NodeId>(i);
    origin_ = origin_of(node, node_);
    ETCH_TRY(lower_node(node_));
  }
  return finish_outputs();
}

Status Drafter::lower_node(NodeId id) {
  const Node& node = graph.nodes[static_cast<size_t>(id)];
  for (const ValueId v : node.outputs)
    if (value(v).rows == Rows::sequences || value(v).rows == Rows::blocks)
      return unsupported(node, "rows per sequence or block have no kernels yet");
  const LowerOp lower = lower_op(node.op);
  if (lower == nullptr) return unsupported(node, "there is no kernel for it yet");
  return lower(*this, node);
}

tl::unexpected<Error> Drafter::unsupported(const Node& node, std::string_view why) const {
  std::string where;
  if (!node.origin.file.empty()) where = fmt::format("{}:{}: ", node.origin.file, node.origin.line);
  return fail(ErrorKind::unsupported, "{}{}: {}", where, name(node.op), why);
}

CallOrigin Drafter::origin_of(const Node& node, NodeId id) const {
  CallOrigin origin;
  origin.node = id;
  // What a pass put here may say it belongs to a layer before: it runs with this one.
  origin.layer = node.origin.layer < 0 ? -1 : std::max(node.origin.layer, origin_.layer);
  if (!node.origin.file.empty())
    origin.location = fmt::format("{}:{}", node.origin.file, node.origin.line);
  std::string arguments;
  for (const ValueId v : node.inputs)
    arguments += fmt::format("{}{}", arguments.empty() ? "" : ", ", value(v).name);
  std::string results;
  for (const ValueId v : node.outputs)
    results += fmt::format("{}{}", results.empty() ? "" : ", ", value(v).name);
  origin.what =
      fmt::format("{}{}({})", results.empty() ? "" : results + " = ", name(node.op), arguments);
  return origin;
}

DraftCall& Drafter::emit(ArgsKind kind, std::string op) {
  draft.calls.push_back(make_call(kind, std::move(op)));
  draft.calls.back().origin = origin_;
  return draft.calls.back();
}

void Drafter::set_tensor(DraftCall& call, const WeightView& weight) const {
  call.weight = weight.dtype;
  call.origin.tensor = weight.tensor;
}

// ---- outputs -----------------------------------------------------------------------------------

// Results that the caller reads are made where it reads them. Both lists share these buffers.
int32_t Drafter::output_slot(ValueId v) {
  if (const auto it = output_slots_.find(v); it != output_slots_.end()) return it->second;
  for (const GraphOutput& o : graph.outputs) {
    if (o.value != v) continue;
    for (size_t i = 0; i < lowered.outputs.size(); ++i) {
      if (lowered.outputs[i].name != o.name) continue;
      const int32_t buffer = lowered.outputs[i].buffer;
      const Buffer& b = lowered.buffers[static_cast<size_t>(buffer)];
      return output_slots_[v] = draft.add_slot({.name = b.name,
                                                .space = Space::output,
                                                .representation = b.representation,
                                                .size = b.size,
                                                .bytes = b.bytes,
                                                .value = v,
                                                .shared = buffer});
    }
  }
  return -1;
}

// An output that is a view of something, a weight or an input is copied out.
Status Drafter::finish_outputs() {
  for (const GraphOutput& o : graph.outputs) {
    if (output_slots_.contains(o.value)) continue;
    const Operand from = ETCH_TRY(operand(o.value));
    const int32_t slot = output_slot(o.value);
    ETCH_CHECK(slot >= 0, "output '{}'", o.name);
    Operand to = {{Space::output, 0, slot},
                  from.rows,
                  4 * count_elements(from.shape),
                  from.shape,
                  tight_strides(from.shape)};
    if (to.rows == Rows::once) to.row_stride = 0;
    origin_.what = fmt::format("{} = {}", o.name, value(o.value).name);
    ETCH_TRY(copy_to(from, to));
  }
  return {};
}

// ---- operands ----------------------------------------------------------------------------------

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

const WeightView* Drafter::weight(ValueId v) const {
  const auto it = weights_.find(v);
  return it == weights_.end() ? nullptr : &it->second;
}

Result<Operand> Drafter::operand(ValueId v) {
  if (const auto it = operands_.find(v); it != operands_.end()) return it->second;
  const WeightView* w = weight(v);
  if (w == nullptr)
    return fail(ErrorKind::unsupported, "'{}' cannot be used as numbers here", value(v).name);
  const Place at = ETCH_TRY(floats(v));
  return operands_[v] = Operand{at, Rows::once, 0, w->shape, tight_strides(w->shape)};
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

// ---- copies and rows ---------------------------------------------------------------------------

Status Drafter::copy_to(const Operand& x, const Operand& y) {
  return elementwise({.op = ETCH_EW_COPY, .a = &x}, y);
}

Result<Operand> Drafter::copy(const Operand& x) {
  const std::string from = x.place.buffer >= 0 ? draft.slot(x.place.buffer).name : "constant";
  const Operand y = make(from + " (copy)", x.rows, x.shape);
  ETCH_TRY(copy_to(x, y));
  return y;
}

Result<Operand> Drafter::contiguous(const Operand& x) {
  if (is_tight(x)) return x;
  return copy(x);
}

Result<RowsView> Drafter::rows(const Operand& x) {
  const size_t rank = x.shape.size();
  RowsView view;
  view.at = x.place;
  view.row_stride = x.row_stride;
  view.rows.of = rows_of(x.rows);
  if (rank == 0) return view;
  view.d = x.shape.back();
  bool fits = view.d == 1 || x.strides.back() == 4;
  // Leading axes of more than one element must be one axis in truth.
  int64_t stride = 0, count = 1;
  for (size_t i = rank - 1; i-- > 0;) {
    if (x.shape[i] == 1) continue;
    if (count == 1)
      stride = x.strides[i];
    else if (x.strides[i] != stride * count)
      fits = false;
    count *= x.shape[i];
  }
  if (!fits) return rows(ETCH_TRY(copy(x)));
  view.rows.per = static_cast<int32_t>(count);
  view.inner_stride = count == 1 ? 4 * view.d : stride;
  return view;
}

// ---- elementwise -------------------------------------------------------------------------------

namespace {

struct Axes {
  // Per axis, outermost first: its length and the strides of a, b, y.
  std::vector<std::array<int64_t, 4>> axes;

  void add(int64_t size, int64_t a, int64_t b, int64_t y) {
    if (size == 1) return;
    if (!axes.empty()) {  // one axis with the one outside it?
      auto& last = axes.back();
      if (last[1] == a * size && last[2] == b * size && last[3] == y * size) {
        last = {last[0] * size, a, b, y};
        return;
      }
    }
    axes.push_back({size, a, b, y});
  }
};

// The stride of an operand along axis i of a shape of `rank` axes: 0 where it is repeated.
int64_t stride_along(const Operand* x, size_t i, size_t rank) {
  if (x == nullptr || x->shape.size() + i < rank) return 0;
  const size_t own = i - (rank - x->shape.size());
  return x->shape[own] == 1 ? 0 : x->strides[own];
}

int64_t stride_of_rows(const Operand* x) {
  return x == nullptr || x->rows == Rows::once ? 0 : x->row_stride;
}

Place moved(Place p, int64_t bytes) {
  if (p.space != Space::none) p.offset += bytes;
  return p;
}

}  // namespace

Status Drafter::elementwise(const Elementwise& what, const Operand& y) {
  const size_t rank = y.shape.size();
  Axes axes;
  for (size_t i = 0; i < rank; ++i)
    axes.add(y.shape[i], stride_along(what.a, i, rank), stride_along(what.b, i, rank),
             y.strides[i]);
  // The outermost axis of the kernel is that of the rows where there are any.
  const bool has_rows = y.rows != Rows::once;
  const size_t most = has_rows ? 3 : 4;
  int64_t repeats = 1;
  std::array<int64_t, 4> outer = {1, 0, 0, 0};
  if (axes.axes.size() > most) {
    outer = axes.axes.front();
    repeats = outer[0];
    axes.axes.erase(axes.axes.begin());
  }
  for (int64_t i = 0; i < repeats; ++i) {
    DraftCall& call = emit(ArgsKind::elementwise, "elementwise");
    call.set("a", what.a == nullptr ? Place{} : moved(what.a->place, i * outer[1]));
    call.set("b", what.b == nullptr ? Place{} : moved(what.b->place, i * outer[2]));
    call.set("y", moved(y.place, i * outer[3]));
    for (size_t axis = 0; axis < 4; ++axis) {
      std::array<int64_t, 4> values = {1, 0, 0, 0};
      const size_t from_end = 4 - axis;
      if (from_end <= axes.axes.size()) values = axes.axes[axes.axes.size() - from_end];
      if (axis == 0 && has_rows)
        values = {1, stride_of_rows(what.a), stride_of_rows(what.b), y.row_stride};
      call.set(fmt::format("sizes[{}]", axis), values[0]);
      call.set(fmt::format("a_strides[{}]", axis), values[1]);
      call.set(fmt::format("b_strides[{}]", axis), values[2]);
      call.set(fmt::format("y_strides[{}]", axis), values[3]);
    }
    call.set("constant", what.constant);
    call.set("lo", what.lo);
    call.set("hi", what.hi);
    call.set("op", static_cast<int32_t>(what.op));
    call.set("rows_of", rows_of(y.rows));
  }
  return {};
}

// ---- rotary ------------------------------------------------------------------------------------

// One call a list for each encoding with numbers of its own, before everything else.
Result<Place> Drafter::rotary_table(int rotary, Rows rows) {
  if (rows != Rows::tokens && rows != Rows::outputs)
    return fail(ErrorKind::unsupported, "rope needs rows that have positions");
  const Rotary& r = graph.rotaries[static_cast<size_t>(rotary)];
  for (const auto& [key, place] : tables_) {
    const Rotary& other = graph.rotaries[static_cast<size_t>(key.first)];
    if (key.second == rows && other.frequencies == r.frequencies && other.magnitude == r.magnitude)
      return place;
  }
  const auto pairs = static_cast<int64_t>(r.frequencies.size());
  const Operand table = make(r.name + " (cos, sin)", rows, {2, pairs});
  DraftCall call = make_call(ArgsKind::rotary, "rotary");
  call.set("frequencies", constants.add_numbers<float>(r.frequencies));
  call.set("y", table.place);
  call.set("pairs", pairs);
  call.set("magnitude", r.magnitude);
  call.set_rows({rows_of(rows), 1});
  call.origin.what = fmt::format("rotary {}", r.name);
  // Before the first call that belongs to a node with a layer, among other tables.
  const auto at = draft.calls.begin() + static_cast<std::ptrdiff_t>(tables_.size());
  draft.calls.insert(at, std::move(call));
  return tables_[{rotary, rows}] = table.place;
}

}  // namespace etch
