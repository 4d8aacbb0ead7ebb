// What kernels.def says of quantising and multiplying: each function describes one kernel of its
// kind (all but its name and functions). Everything here is known when it is compiled and needs no
// runtime of C++, since it also goes into the libraries of printed models (entry.cc.in).
#pragma once

#include "kernels/activations.h"
#include "kernels/kernel.h"
#include "kernels/panel_layout.h"

namespace etch {

// Of dtypes.def, where it must be known when this is compiled.
constexpr int64_t block_elements(DType dtype) {
  constexpr int64_t kElements[] = {
#define X(enumerator, id, name, elements, bytes, state) elements,
#include "dtypes/dtypes.def"
#undef X
  };
  return kElements[static_cast<size_t>(dtype)];
}
constexpr bool is_plain(DType dtype) {
  constexpr DTypeState kStates[] = {
#define X(enumerator, id, name, elements, bytes, state) DTypeState::state,
#include "dtypes/dtypes.def"
#undef X
  };
  return kStates[static_cast<size_t>(dtype)] == DTypeState::plain;
}

// Rows a call works on.
inline int64_t count_rows(const etch_rows& rows, const etch_thread* thread) {
  switch (rows.of) {
    case ETCH_TOKENS:
      return int64_t{rows.per} * thread->step->n_rows;
    case ETCH_OUTPUTS:
      return int64_t{rows.per} * thread->step->n_outputs;
    default:
      return rows.per;
  }
}

namespace items {

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// ---- quantise ----------------------------------------------------------------------------------

// The same for etch_quantize and etch_norm.
template <class Args>
inline int64_t quantize_row_items(const void* args, const etch_thread* thread) {
  return count_rows(static_cast<const Args*>(args)->rows, thread);
}
template <class Args>
inline int64_t quantize_block_items(const void* args, const etch_thread* thread) {
  return ceil_div(quantize_row_items<Args>(args, thread), ETCH_PANEL_COLUMNS);
}
template <class Args>
inline int64_t quantize_row_bytes(const void* args) {
  return 4 * static_cast<const Args*>(args)->d;
}
template <class Args>
inline int64_t quantize_block_bytes(const void* args) {
  return ETCH_PANEL_COLUMNS * quantize_row_bytes<Args>(args);
}

template <class Args>
constexpr etch_kernel describe_quantizing(ArgsKind kind, Representation output) {
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
inline int64_t tile_items(const void* args, const etch_thread*) {
  return ceil_div(static_cast<const etch_matmul*>(args)->n_out, rows);
}
template <int64_t rows>
inline int64_t tile_bytes(const void* args) {
  const auto& a = *static_cast<const etch_matmul*>(args);
  return rows * a.row_bytes * (a.gate == nullptr ? 1 : 2);
}
// A last tile that is not full is copied and filled up, so that kernels read whole tiles and
// nothing else.
template <int64_t rows>
inline int64_t short_tile_bytes(const void* args) {
  const auto& a = *static_cast<const etch_matmul*>(args);
  return a.n_out % rows == 0 ? 0 : rows * a.row_bytes;
}
template <int64_t block>
inline int64_t panel_scratch_bytes(const void* args) {
  const auto& a = *static_cast<const etch_matmul*>(args);
  return (panel_layout::panel_bytes(a.n_in, block) + panel_layout::sums_bytes(a.n_in)) *
             (a.gate == nullptr ? 1 : 2) +
         short_tile_bytes<panel_layout::kPanelRows>(args);
}

// An item is one tile of every expert's matrix.
inline int64_t expert_items(const void* args, const etch_thread*) {
  return ceil_div(static_cast<const etch_expert_matmul*>(args)->n_out, 16);
}
inline int64_t expert_item_bytes(const void* args) {
  const auto& a = *static_cast<const etch_expert_matmul*>(args);
  return 16 * a.row_bytes * (a.gates == nullptr ? 1 : 2) * a.n_used;
}
inline int64_t expert_scratch_bytes(const void* args) {
  const auto& a = *static_cast<const etch_expert_matmul*>(args);
  return a.n_out % 16 == 0 ? 0 : 16 * a.row_bytes;
}

// Cycles per 256 weights and column, in L2, measured on Zen 4.
constexpr double cycles(DType weight) {
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

constexpr etch_kernel describe_product(DType weight, Representation per_32,
                                       Representation per_256) {
  etch_kernel k{};
  k.args = ArgsKind::matmul;
  k.weight = weight;
  k.row_multiple = static_cast<int32_t>(block_elements(weight));
  k.input = k.row_multiple == 256 ? per_256 : per_32;
  k.output = Representation::f32;
  k.cycles_per_256 = cycles(weight);
  return k;
}

}  // namespace items

constexpr etch_kernel describe_quantize(Representation output) {
  using namespace items;
  return describe_quantizing<etch_quantize>(ArgsKind::quantize, output);
}

constexpr etch_kernel describe_norm_quantize(Representation output) {
  using namespace items;
  return describe_quantizing<etch_norm>(ArgsKind::norm, output);
}

constexpr etch_kernel describe_registers(DType weight) {
  using namespace items;
  etch_kernel k = describe_product(weight, Representation::q8_32, Representation::q8_256);
  k.tile_rows = 16;
  k.items = tile_items<16>;
  k.item_bytes = tile_bytes<16>;
  k.scratch_bytes = short_tile_bytes<16>;
  return k;
}

constexpr etch_kernel describe_panel(DType weight) {
  using namespace items;
  etch_kernel k =
      describe_product(weight, Representation::q8_32_packed, Representation::q8_256_packed);
  k.tile_rows = panel_layout::kPanelRows;
  k.items = tile_items<panel_layout::kPanelRows>;
  k.item_bytes = tile_bytes<panel_layout::kPanelRows>;
  k.scratch_bytes = k.row_multiple == 256 ? panel_scratch_bytes<256> : panel_scratch_bytes<32>;
  return k;
}

constexpr etch_kernel describe_float_matmul(DType weight) {
  using namespace items;
  etch_kernel k = describe_product(weight, Representation::f32, Representation::f32);
  k.tile_rows = 16;
  k.items = tile_items<16>;
  k.item_bytes = tile_bytes<16>;
  return k;
}

constexpr etch_kernel describe_expert_matmul(DType weight) {
  using namespace items;
  const bool is_float = is_plain(weight);
  etch_kernel k = describe_product(weight, is_float ? Representation::f32 : Representation::q8_32,
                                   Representation::q8_256);
  k.args = ArgsKind::expert_matmul;
  k.tile_rows = 16;
  k.items = expert_items;
  k.item_bytes = expert_item_bytes;
  if (!is_float) k.scratch_bytes = expert_scratch_bytes;
  return k;
}

constexpr etch_kernel describe_expert_order() {
  using namespace items;
  etch_kernel k{};
  k.args = ArgsKind::expert_order;
  k.input = k.output = Representation::i32;
  k.items = [](const void*, const etch_thread*) -> int64_t { return 1; };
  return k;
}

}  // namespace etch
