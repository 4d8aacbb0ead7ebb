// What a call touches, from its arguments alone: one line per operand of each argument struct. A
// range with holes is told as such, so that writers of neighbouring columns do not seem to collide.
#include <algorithm>

#include "base/check.h"
#include "lower/draft.h"

namespace etch {
namespace {

struct Axis {
  int64_t count = 1, stride = 0;
};

class Accesses {
 public:
  Accesses(const Draft& draft, DraftCall& call) : draft_(draft), call_(call) {
    call.reads.clear();
    call.writes.clear();
  }

  int64_t rows() const { return draft_.rows_of(call_.rows().of); }
  int64_t all_rows() const { return rows() * call_.rows().per; }

  // Elements of 4 bytes along some axes.
  void touch(bool write, Place at, std::vector<Axis> axes) {
    if (at.buffer < 0) return;
    std::erase_if(axes, [](const Axis& a) { return a.count == 1 || a.stride == 0; });
    std::sort(axes.begin(), axes.end(),
              [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
    int64_t piece = 4;
    while (!axes.empty() && axes.back().stride == piece) {
      piece *= axes.back().count;
      axes.pop_back();
    }
    // The longest axis becomes the stride of an access, the others are counted out.
    Axis longest;
    if (!axes.empty()) {
      const auto it = std::max_element(
          axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.count < b.count; });
      longest = *it;
      axes.erase(it);
    }
    count_out(write, at, axes, 0, longest, piece);
  }

  void view(bool write, std::string_view field, int64_t d) {
    const RowsView v = call_.view(field, d);
    touch(write, v.at, {{rows(), v.row_stride}, {v.rows.per, v.inner_stride}, {d, 4}});
  }
  // [rows, n, d]: per-row axes given by the caller.
  void heads(bool write, std::string_view field, int64_t n, int64_t d) {
    const RowsView v = call_.view(field, d);
    touch(write, v.at, {{rows(), v.row_stride}, {n, v.inner_stride}, {d, 4}});
  }
  void bytes(bool write, std::string_view field, int64_t n) {
    const Place at = call_.place(field);
    if (at.buffer >= 0) add(write, {at, n, -1, 0, 0});
  }
  void rest(bool write, std::string_view field) {  // from its place to its slot's end
    const Place at = call_.place(field);
    if (at.buffer >= 0) add(write, {at, draft_.slot(at.buffer).bytes - at.offset, -1, 0, 0});
  }
  void state(bool write, int32_t s) { add(write, {{}, 0, s, 0, 0}); }

 private:
  void count_out(bool write, Place at, const std::vector<Axis>& axes, size_t axis, Axis longest,
                 int64_t piece) {
    if (axis == axes.size()) {
      if (longest.count == 1) return add(write, {at, piece, -1, 0, 0});
      return add(write,
                 {at, (longest.count - 1) * longest.stride + piece, -1, piece, longest.stride});
    }
    for (int64_t i = 0; i < axes[axis].count; ++i) {
      count_out(write, at, axes, axis + 1, longest, piece);
      at.offset += axes[axis].stride;
    }
  }
  void add(bool write, Access a) {
    if (a.bytes <= 0 && a.state < 0) return;
    (write ? call_.writes : call_.reads).push_back(a);
  }

  const Draft& draft_;
  DraftCall& call_;
};

void matmul_x(const DraftCall& call, const Draft& draft, Accesses& a) {
  const Place at = call.place("x");
  if (at.space == Space::none) {  // not converted yet: the float32 rows
    a.touch(false, call.x.at,
            {{draft.rows_of(call.x.rows.of), call.x.row_stride},
             {call.x.rows.per, call.x.inner_stride},
             {call.x.d, 4}});
  } else if (at.buffer >= 0 && draft.slot(at.buffer).representation == Representation::f32) {
    a.touch(false, at, {{a.all_rows(), call.i64("x_stride")}, {call.i64("n_in"), 4}});
  } else {
    a.rest(false, "x");
  }
}

void elementwise(const DraftCall& call, Accesses& a) {
  const std::pair<const char*, bool> operands[] = {{"a", false}, {"b", false}, {"y", true}};
  for (const auto& [field, write] : operands) {
    std::vector<Axis> axes;
    for (int i = 0; i < 4; ++i)
      axes.push_back({call.i64(fmt::format("sizes[{}]", i)) * (i == 0 ? a.rows() : 1),
                      call.i64(fmt::format("{}_strides[{}]", field, i))});
    a.touch(write, call.place(field), axes);
  }
}

}  // namespace

void find_accesses(const Draft& draft, DraftCall& call) {
  Accesses a(draft, call);
  const auto i64 = [&](std::string_view field) { return call.i64(field); };
  const auto i32 = [&](std::string_view field) { return int64_t{call.i32(field)}; };
  switch (call.kind) {
    case ArgsKind::embed:
      a.bytes(false, "ids", 4 * a.all_rows());
      a.view(true, "y", i64("d"));
      break;
    case ArgsKind::norm:
      a.view(false, "x", i64("d"));
      a.rest(false, "weight");
      a.rest(false, "bias");
      a.view(true, "y", call.op == "sum" ? 1 : i64("d"));
      a.rest(true, "packed");
      break;
    case ArgsKind::quantize:
      a.view(false, "x", i64("d"));
      a.rest(true, "packed");
      break;
    case ArgsKind::matmul:
      matmul_x(call, draft, a);
      a.touch(false, call.place("residual"),
              {{a.all_rows(), i64("residual_stride")}, {i64("n_out"), 4}});
      a.touch(true, call.place("y"), {{a.all_rows(), i64("y_stride")}, {i64("n_out"), 4}});
      a.rest(true, "scratch");
      break;
    case ArgsKind::expert_matmul:
      matmul_x(call, draft, a);
      a.bytes(false, "experts", 4 * a.all_rows() * i32("n_used"));
      a.rest(false, "order");
      a.bytes(true, "y", 4 * a.all_rows() * i32("n_used") * i64("n_out"));
      a.rest(true, "scratch");
      break;
    case ArgsKind::expert_order:
      a.bytes(false, "experts", 4 * a.all_rows() * i32("n_used"));
      a.rest(true, "order");
      break;
    case ArgsKind::mix:
      a.bytes(false, "weights", 4 * a.all_rows() * i32("n_used"));
      a.heads(false, "x", i32("n_used"), i64("d"));
      a.view(true, "y", i64("d"));
      break;
    case ArgsKind::route:
      a.view(false, "scores", i32("n_experts"));
      a.bytes(false, "chosen", 4 * a.all_rows() * i32("top"));
      a.bytes(true, "experts", 4 * a.all_rows() * i32("top"));
      a.bytes(true, "weights", 4 * a.all_rows() * i32("top"));
      break;
    case ArgsKind::rotary:
      a.bytes(true, "y", 8 * a.all_rows() * i64("pairs"));
      break;
    case ArgsKind::rope:
      a.view(false, "x", i64("d"));
      a.bytes(false, "table", 8 * a.rows() * i64("pairs"));
      a.view(true, "y", i64("d"));
      break;
    case ArgsKind::append:
      a.heads(false, "k", i64("n"), i64("d_k"));
      a.heads(false, "v", i64("n"), i64("d_v"));
      a.bytes(false, "table", 8 * a.rows() * i64("pairs"));
      a.state(true, call.i32("state"));
      break;
    case ArgsKind::attend:
      a.heads(false, "q", i64("n_q"), i64("d_k"));
      a.heads(false, "k", i64("n_kv"), i64("d_k"));
      a.heads(false, "v", i64("n_kv"), i64("d_v"));
      a.bytes(false, "table", 8 * a.rows() * i64("pairs"));
      a.heads(true, "y", i64("n_q"), i64("d_v"));
      a.rest(call.op != "attend_merge", "partials");
      a.rest(true, "scratch");
      if (!call.has("k.at") && call.op != "attend_merge") a.state(false, call.i32("state"));
      break;
    case ArgsKind::elementwise:
      elementwise(call, a);
      break;
    case ArgsKind::gather: {
      const RowsView x = call.view("x", i64("d"));
      a.touch(false, x.at, {{draft.max_rows, x.row_stride}, {x.d, 4}});
      a.view(true, "y", i64("d"));
      break;
    }
    case ArgsKind::wire_matmul: {
      const RowsView b = call.view("b", i64("n"));
      a.heads(false, "a", i64("m"), i64("k"));
      a.touch(false, b.at,
              {{a.rows(), b.row_stride},
               {i64("k"), b.inner_stride},
               {i64("n"), i64("b_column_stride")}});
      a.heads(true, "y", i64("m"), i64("n"));
      break;
    }
  }
}

}  // namespace etch
