#include "study/parity_values.h"

#include <cstring>
#include <map>

#include "lowered/arguments.h"

namespace etch {
namespace {

using Axis = LeftValue::Axis;

// y of a call as rows of axes; none where it leaves nothing in float32.
class Reader {
 public:
  explicit Reader(const Call& call) : call_(call) {}

  std::optional<LeftValue> run() {
    switch (call_.kernel->args) {
      case ArgsKind::embed:
      case ArgsKind::rope:
        return view(rows(), {{1, 4}, d()});
      case ArgsKind::norm:
        return view(rows(), {{1, 4}, call_.kernel->name == "sum" ? 1 : d()});
      case ArgsKind::mix:
        return view(rows(), {{1, 4}, d()});
      case ArgsKind::gather:
        return view({ETCH_OUTPUTS, 1}, {{1, 4}, d()});
      case ArgsKind::attend:
        return view({ETCH_TOKENS, static_cast<int32_t>(i64("n_q"))}, {{1, 4}, i64("d_v")});
      case ArgsKind::wire_matmul:
        return view({i32("rows_of"), static_cast<int32_t>(i64("m"))}, {{1, 4}, i64("n")});
      case ArgsKind::matmul: {
        const etch_rows r = rows();
        return left("y", r.of, r.per * i64("y_stride"),
                    {{r.per, i64("y_stride")}, {i64("n_out"), 4}});
      }
      case ArgsKind::expert_matmul: {
        const int64_t n = int64_t{rows().per} * i32("n_used") * i64("n_out");
        return left("y", rows().of, 4 * n, {{n, 4}});
      }
      case ArgsKind::route: {
        const int64_t n = int64_t{rows().per} * i32("top");
        std::optional<LeftValue> l = left("weights", rows().of, 4 * n, {{n, 4}});
        if (l) l->ids = argument<Place>(call_, "experts");
        return l;
      }
      case ArgsKind::elementwise: {
        std::vector<Axis> axes;
        for (const char* i : {"[0]", "[1]", "[2]", "[3]"})
          axes.push_back({i64(std::string("sizes") + i), i64(std::string("y_strides") + i)});
        return left("y", i32("rows_of"), axes[0].count * axes[0].stride, axes);
      }
      case ArgsKind::quantize:
      case ArgsKind::expert_order:
      case ArgsKind::rotary:
      case ArgsKind::append:
        return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  int64_t i64(std::string_view field) const { return argument<int64_t>(call_, field); }
  int32_t i32(std::string_view field) const { return argument<int32_t>(call_, field); }
  int64_t d() const { return i64("d"); }
  etch_rows rows() const { return {i32("rows.of"), i32("rows.per")}; }

  struct Last {
    Axis unit;
    int64_t d;
  };
  std::optional<LeftValue> view(etch_rows rows, Last last) const {
    return left("y.at", rows.of, i64("y.row_stride"),
                {{rows.per, i64("y.inner_stride")}, {last.d, last.unit.stride}});
  }
  std::optional<LeftValue> left(std::string_view field, int32_t rows_of, int64_t row_stride,
                                std::vector<Axis> axes) const {
    LeftValue l;
    l.at = argument<Place>(call_, field);
    if (l.at.space == Space::none) return std::nullopt;
    l.rows_of = rows_of;
    l.row_stride = row_stride;
    l.axes = std::move(axes);
    return l;
  }

  const Call& call_;
};

int64_t elements(const LeftValue& l) {
  int64_t n = 1;
  for (const Axis& a : l.axes) n *= a.count;
  return n;
}

int32_t rows_of(Rows rows) {
  return rows == Rows::outputs ? ETCH_OUTPUTS : rows == Rows::tokens ? ETCH_TOKENS : ETCH_ONCE;
}

// A value made piece by piece, as by concat: all of its buffer.
std::optional<LeftValue> whole_buffer(const Lowered& lowered, const Call& call, ValueId v,
                                      const Value& value) {
  for (const Access& a : call.writes) {
    if (a.place.buffer < 0) continue;
    const Buffer& b = lowered.buffers[static_cast<size_t>(a.place.buffer)];
    if (b.value != v || b.representation != Representation::f32) continue;
    const int64_t bytes = 4 * value.elements();
    const bool tight = rows_of(value.rows) == ETCH_TOKENS    ? b.size == Affine{0, bytes, 0}
                       : rows_of(value.rows) == ETCH_OUTPUTS ? b.size == Affine{0, 0, bytes}
                                                             : b.size == Affine{bytes, 0, 0};
    if (!tight) continue;
    LeftValue l;
    l.at = {b.space, b.offset, a.place.buffer};
    l.rows_of = rows_of(value.rows);
    l.row_stride = bytes;
    l.axes = {{value.elements(), 4}};
    return l;
  }
  return std::nullopt;
}

}  // namespace

std::vector<LeftValue> left_values(const Graph& graph, const Lowered& lowered, bool prefill) {
  const CallList& list = prefill ? lowered.prefill : lowered.decode;
  std::map<int32_t, int32_t> last_of;  // node -> its last call
  for (int32_t i = 0; i < static_cast<int32_t>(list.calls.size()); ++i) {
    const Call& call = list.calls[static_cast<size_t>(i)];
    if (Reader(call).run()) last_of[call.origin.node] = i;
  }
  std::vector<LeftValue> all;
  for (int32_t i = 0; i < static_cast<int32_t>(list.calls.size()); ++i) {
    const Call& call = list.calls[static_cast<size_t>(i)];
    const auto node = call.origin.node;
    if (node < 0 || node >= std::ssize(graph.nodes)) continue;
    const auto last = last_of.find(node);
    const Node& n = graph.nodes[static_cast<size_t>(node)];
    if (last == last_of.end() || last->second != i || n.outputs.size() != 1) continue;
    const ValueId v = n.outputs[0];
    const Value& value = graph.value(v);
    std::optional<LeftValue> left = Reader(call).run();
    if (elements(*left) != value.elements() || left->rows_of != rows_of(value.rows))
      left = whole_buffer(lowered, call, v, value);
    if (!left) continue;
    left->value = v;
    left->call = i;
    all.push_back(std::move(*left));
  }
  return all;
}

std::vector<float> read_value(const LeftValue& left, const CallResult& result) {
  const int64_t n_rows = left.rows_of == ETCH_TOKENS    ? result.step.n_rows
                         : left.rows_of == ETCH_OUTPUTS ? result.step.n_outputs
                                                        : 1;
  std::vector<float> numbers;
  numbers.reserve(static_cast<size_t>(n_rows * elements(left)));
  const uint8_t* at = result.at(left.at);
  const uint8_t* ids = left.ids.space == Space::none ? nullptr : result.at(left.ids);
  std::vector<int64_t> index(left.axes.size());
  for (int64_t r = 0; r < n_rows; ++r) {
    std::fill(index.begin(), index.end(), 0);
    for (int64_t i = 0; ids && i < elements(left); ++i) {
      int32_t id;
      std::memcpy(&id, ids + r * left.row_stride + 4 * i, sizeof id);
      numbers.push_back(static_cast<float>(id));
    }
    for (int64_t i = 0; i < elements(left); ++i) {
      int64_t offset = r * left.row_stride;
      for (size_t a = 0; a < index.size(); ++a) offset += index[a] * left.axes[a].stride;
      float number;
      std::memcpy(&number, at + offset, sizeof number);
      numbers.push_back(number);
      for (size_t a = index.size(); a-- > 0 && ++index[a] == left.axes[a].count;) index[a] = 0;
    }
  }
  return numbers;
}

}  // namespace etch
