#include "kernels/describe.h"

#include "base/check.h"
#include "kernels/activations.h"
#include "kernels/panel_layout.h"

namespace etch {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// ---- quantise ----------------------------------------------------------------------------------

// The same for etch_quantize and etch_norm.
template <class Args>
int64_t quantize_row_items(const void* args, const etch_thread* thread) {
  return count_rows(static_cast<const Args*>(args)->rows, thread);
}
template <class Args>
int64_t quantize_block_items(const void* args, const etch_thread* thread) {
  return ceil_div(quantize_row_items<Args>(args, thread), ETCH_PANEL_COLUMNS);
}
template <class Args>
int64_t quantize_row_bytes(const void* args) {
  return 4 * static_cast<const Args*>(args)->d;
}
template <class Args>
int64_t quantize_block_bytes(const void* args) {
  return ETCH_PANEL_COLUMNS * quantize_row_bytes<Args>(args);
}

template <class Args>
etch_kernel describe_quantizing(ArgsKind kind, Representation output) {
  const bool packed =
      output == Representation::q8_32_packed || output == Representation::q8_256_packed;
  const bool wide = output == Representation::q8_256 || output == Representation::q8_256_packed;
  etch_kernel k{};
  k.args = kind;
  k.output = output;
  k.row_multiple = wide ? 256 : 32;
  k.items = packed ? quantize_block_items<Args> : quantize_row_items<Args>;
  k.item_bytes = packed ? quantize_block_bytes<Args> : quantize_row_bytes<Args>;
  return k;
}

// ---- matmul ------------------------------------------------------------------------------------

// One item is `rows` rows of the weight (and of the gate).
template <int64_t rows>
int64_t tile_items(const void* args, const etch_thread*) {
  return ceil_div(static_cast<const etch_matmul*>(args)->n_out, rows);
}
template <int64_t rows>
int64_t tile_bytes(const void* args) {
  const auto& a = *static_cast<const etch_matmul*>(args);
  return rows * a.row_bytes * (a.gate == nullptr ? 1 : 2);
}
// A last tile that is not full is copied and filled up, so that kernels read whole tiles and
// nothing else.
template <int64_t rows>
int64_t short_tile_bytes(const void* args) {
  const auto& a = *static_cast<const etch_matmul*>(args);
  return a.n_out % rows == 0 ? 0 : rows * a.row_bytes;
}
template <int64_t block>
int64_t panel_scratch_bytes(const void* args) {
  const auto& a = *static_cast<const etch_matmul*>(args);
  return (panel_layout::panel_bytes(a.n_in, block) + panel_layout::sums_bytes(a.n_in)) *
             (a.gate == nullptr ? 1 : 2) +
         short_tile_bytes<panel_layout::kPanelRows>(args);
}

// An item is one tile of every expert's matrix.
int64_t expert_items(const void* args, const etch_thread*) {
  return ceil_div(static_cast<const etch_expert_matmul*>(args)->n_out, 16);
}
int64_t expert_item_bytes(const void* args) {
  const auto& a = *static_cast<const etch_expert_matmul*>(args);
  return 16 * a.row_bytes * (a.gates == nullptr ? 1 : 2) * a.n_used;
}
int64_t expert_scratch_bytes(const void* args) {
  const auto& a = *static_cast<const etch_expert_matmul*>(args);
  return a.n_out % 16 == 0 ? 0 : 16 * a.row_bytes;
}

// Cycles per 256 weights and column, in L2, measured on Zen 4.
double cycles(DType weight) {
  switch (weight) {
    case DType::q4_k:
      return 18;
    case DType::q4_0:
      return 20;
    case DType::q4_1:
      return 22;
    case DType::q6_k:
      return 21;
    case DType::q8_0:
      return 26;
    default:
      return 30;
  }
}

etch_kernel describe_product(DType weight, Representation per_32, Representation per_256) {
  etch_kernel k{};
  k.args = ArgsKind::matmul;
  k.weight = weight;
  k.row_multiple = static_cast<int32_t>(info(weight).block_elements);
  k.input = k.row_multiple == 256 ? per_256 : per_32;
  k.output = Representation::f32;
  k.cycles_per_256 = cycles(weight);
  return k;
}

}  // namespace

int64_t count_rows(const etch_rows& rows, const etch_thread* thread) {
  switch (rows.of) {
    case ETCH_TOKENS:
      return int64_t{rows.per} * thread->step->n_rows;
    case ETCH_OUTPUTS:
      return int64_t{rows.per} * thread->step->n_outputs;
    default:
      return rows.per;
  }
}

int64_t activation_row_bytes(Representation r, int64_t d) {
  const auto padded = [](int64_t bytes) {
    return ceil_div(bytes, activations::kPadding) * activations::kPadding;
  };
  switch (r) {
    case Representation::f32:
    case Representation::i32:
      return 4 * d;
    case Representation::q8_32:
      return padded(d + d / 32 * int64_t{sizeof(activations::Group32)});
    case Representation::q8_256:
      return padded(d + d / 256 * int64_t{sizeof(activations::Group256)});
    case Representation::q8_32_packed:
      return padded(ETCH_PANEL_COLUMNS * (d + d / 32 * int64_t{sizeof(activations::Group32)}));
    case Representation::q8_256_packed:
      return padded(ETCH_PANEL_COLUMNS * (d + d / 256 * int64_t{sizeof(activations::Group256)}));
  }
  ETCH_CHECK(false, "representation {}", static_cast<int>(r));
}

int64_t activation_bytes(Representation r, int64_t d, int64_t rows) {
  const bool packed = r == Representation::q8_32_packed || r == Representation::q8_256_packed;
  return activation_row_bytes(r, d) * (packed ? ceil_div(rows, ETCH_PANEL_COLUMNS) : rows);
}

etch_kernel describe_quantize(Representation output) {
  return describe_quantizing<etch_quantize>(ArgsKind::quantize, output);
}

etch_kernel describe_norm_quantize(Representation output) {
  return describe_quantizing<etch_norm>(ArgsKind::norm, output);
}

etch_kernel describe_registers(DType weight) {
  etch_kernel k = describe_product(weight, Representation::q8_32, Representation::q8_256);
  k.tile_rows = 16;
  k.items = tile_items<16>;
  k.item_bytes = tile_bytes<16>;
  k.scratch_bytes = short_tile_bytes<16>;
  return k;
}

etch_kernel describe_panel(DType weight) {
  etch_kernel k =
      describe_product(weight, Representation::q8_32_packed, Representation::q8_256_packed);
  k.tile_rows = panel_layout::kPanelRows;
  k.items = tile_items<panel_layout::kPanelRows>;
  k.item_bytes = tile_bytes<panel_layout::kPanelRows>;
  k.scratch_bytes = k.row_multiple == 256 ? panel_scratch_bytes<256> : panel_scratch_bytes<32>;
  return k;
}

etch_kernel describe_float_matmul(DType weight) {
  etch_kernel k = describe_product(weight, Representation::f32, Representation::f32);
  k.tile_rows = 16;
  k.items = tile_items<16>;
  k.item_bytes = tile_bytes<16>;
  return k;
}

etch_kernel describe_expert_matmul(DType weight) {
  const bool is_float = info(weight).state == DTypeState::plain;
  etch_kernel k = describe_product(weight, is_float ? Representation::f32 : Representation::q8_32,
                                   Representation::q8_256);
  k.args = ArgsKind::expert_matmul;
  k.tile_rows = 16;
  k.items = expert_items;
  k.item_bytes = expert_item_bytes;
  if (!is_float) k.scratch_bytes = expert_scratch_bytes;
  return k;
}

etch_kernel describe_expert_order() {
  etch_kernel k{};
  k.args = ArgsKind::expert_order;
  k.input = k.output = Representation::i32;
  k.items = [](const void*, const etch_thread*) -> int64_t { return 1; };
  return k;
}

}  // namespace etch
