// Representation is part of an edge's type: a product's kernel says what it reads as x, and here
// the float32 rows are converted to that, once for all who read the same rows in the same layout.
#include <fmt/core.h>

#include "lower/kernel_choice.h"

namespace etch {
namespace {

struct Converted {
  RowsView x;
  Representation representation;
  Place place;
};

bool is_packed(Representation r) {
  return r == Representation::q8_32_packed || r == Representation::q8_256_packed;
}

// Bytes as an affine size: packed blocks hold 6 columns, so a few rows more may be counted.
Affine size_of(Representation r, const RowsView& x) {
  Affine size;
  const int64_t row = activation_row_bytes(r, x.d);  // packed: of a block of columns
  const int64_t per = x.rows.per;
  int64_t& grows = x.rows.of == ETCH_TOKENS    ? size.per_row
                   : x.rows.of == ETCH_OUTPUTS ? size.per_output
                                               : size.fixed;
  if (!is_packed(r)) {
    grows = row * per;
  } else if (x.rows.of == ETCH_ONCE) {
    grows = activation_bytes(r, x.d, per);
  } else {
    size.fixed = row;
    grows = (row * per + ETCH_PANEL_COLUMNS - 1) / ETCH_PANEL_COLUMNS;
  }
  return size;
}

class Conversions {
 public:
  Conversions(Draft& draft, const Target& target) : draft_(draft), target_(target) {}

  Status run() {
    std::vector<DraftCall> calls;
    calls.swap(draft_.calls);
    for (DraftCall& call : calls) {
      if (call.kind == ArgsKind::matmul || call.kind == ArgsKind::expert_matmul)
        ETCH_TRY(convert_x(call));
      draft_.calls.push_back(std::move(call));
    }
    return {};
  }

 private:
  Status convert_x(DraftCall& call) {
    const Representation wanted = call.kernel->input;
    if (wanted == Representation::f32) {
      if (!call.x.is_uniform()) call.x = ETCH_TRY(copied(call));
      call.set("x", call.x.at);
      call.set("x_stride", call.x.uniform_stride());
      return {};
    }
    const Place place = ETCH_TRY(converted(call, wanted));
    call.set("x", place);
    call.set("x_stride", is_packed(wanted) ? 0 : activation_row_bytes(wanted, call.x.d));
    return {};
  }

  Result<Place> converted(const DraftCall& reader, Representation wanted) {
    for (const Converted& c : done_)
      if (c.representation == wanted && c.x == reader.x) return c.place;
    const RowsView& x = reader.x;
    DraftCall call = make_call(ArgsKind::quantize, "quantize");
    call.output = wanted;
    call.kernel = find_kernel_for(call, target_);
    if (call.kernel == nullptr)
      return fail(ErrorKind::unsupported, "{}: no kernel makes {} rows", reader.origin.tensor,
                  name(wanted));
    const int64_t rows = draft_.rows_of(x.rows.of) * x.rows.per;
    const std::string from = x.at.buffer >= 0 ? draft_.slot(x.at.buffer).name : "constant";
    const int32_t slot = draft_.add_slot({.name = fmt::format("{} ({})", from, name(wanted)),
                                          .representation = wanted,
                                          .size = size_of(wanted, x),
                                          .bytes = activation_bytes(wanted, x.d, rows)});
    const Place place = {Space::arena, 0, slot};
    call.set_view("x", x);
    call.set("packed", place);
    call.set("d", x.d);
    call.set_rows(x.rows);
    call.origin = reader.origin;
    call.origin.tensor.clear();
    call.origin.what = fmt::format("{} as {}", from, name(wanted));
    draft_.calls.push_back(std::move(call));
    done_.push_back({x, wanted, place});
    return place;
  }

  // Rows with gaps that no stride tells, for kernels that read float32.
  Result<RowsView> copied(const DraftCall& reader) {
    const RowsView& x = reader.x;
    DraftCall call = make_call(ArgsKind::elementwise, "elementwise");
    call.kernel = find_kernel_for(call, target_);
    if (call.kernel == nullptr)
      return fail(ErrorKind::unsupported, "there is no kernel that copies");
    RowsView y = x;
    y.row_stride = 4 * x.d * x.rows.per;
    y.inner_stride = 4 * x.d;
    Affine size;
    (x.rows.of == ETCH_TOKENS ? size.per_row : size.per_output) = y.row_stride;
    y.at = {Space::arena, 0, draft_.add_slot({.name = "rows (copy)", .size = size})};
    const int64_t sizes[4] = {1, 1, x.rows.per, x.d};
    const int64_t a[4] = {x.row_stride, 0, x.inner_stride, 4},
                  b[4] = {y.row_stride, 0, y.inner_stride, 4};
    for (int i = 0; i < 4; ++i) {
      call.set(fmt::format("sizes[{}]", i), sizes[i]);
      call.set(fmt::format("a_strides[{}]", i), a[i]);
      call.set(fmt::format("y_strides[{}]", i), b[i]);
    }
    call.set("a", x.at);
    call.set("y", y.at);
    call.set("op", int32_t{ETCH_EW_COPY});
    call.set("rows_of", x.rows.of);
    call.origin = reader.origin;
    call.origin.what = "rows without gaps";
    draft_.calls.push_back(std::move(call));
    return y;
  }

  Draft& draft_;
  const Target& target_;
  std::vector<Converted> done_;
};

}  // namespace

Status insert_conversions(Draft& draft, const Target& target) {
  return Conversions(draft, target).run();
}

}  // namespace etch
