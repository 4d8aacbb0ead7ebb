// Products that go by tiles of 16 rows of the weight, a few columns at a time: the loops around
// them, for a dense matrix and for chosen experts. A Product says how one tile meets some columns:
//
//   kColumns      at most so many at once
//   kWholeTiles   it reads 16 rows, whatever `valid` says
//   product(n, rows, valid, row_bytes, n_in, x, out, ahead)
//                 out[c][i] = row i times the column at x[c]; x has room for kColumns pointers
#pragma once

#include "kernels/ops/epilogue.h"
#include "kernels/ops/prefetch.h"
#include "kernels/ops/tile.h"

namespace etch::ETCH_ISA {

// Columns x[0 .. n - 1], n <= kColumns, meet the rows `row` .. row + 15 of a matrix.
template <class Product>
ETCH_WORD void tile_columns(int n, const uint8_t* matrix, int64_t row, int64_t n_out,
                            int64_t row_bytes, int64_t n_in, uint8_t* scratch, const uint8_t** x,
                            float (*out)[16], Ahead ahead) {
  const int valid = static_cast<int>(n_out - row < 16 ? n_out - row : 16);
  const uint8_t* const rows = Product::kWholeTiles
                                  ? whole_tile(matrix, row, n_out, row_bytes, 16, scratch)
                                  : matrix + row * row_bytes;
  Product::product(n, rows, valid, row_bytes, n_in, x, out, ahead);
}

template <class Product>
static void dense_tiles(const void* args, const etch_thread* thread, int64_t first, int64_t last) {
  constexpr int kColumns = Product::kColumns;
  constexpr int64_t kAhead = 2;  // passes
  const auto& a = *static_cast<const etch_matmul*>(args);
  const int64_t n = count_rows(a.rows, thread);
  const int64_t begin = share((a.n_out + 15) / 16, thread->index, thread->count);
  const int passes = a.gate == nullptr ? 1 : 2;
  // As few groups of columns as possible, of nearly equal size.
  const int64_t n_groups = (n + kColumns - 1) / kColumns;
  for (int64_t tile = first; tile < last; ++tile) {
    const int64_t row = tile * 16;
    const int valid = static_cast<int>(a.n_out - row < 16 ? a.n_out - row : 16);
    for (int64_t g = 0; g < n_groups; ++g) {
      const int64_t c = g * n / n_groups;
      const int some = static_cast<int>((g + 1) * n / n_groups - c);
      const uint8_t* x[kColumns];
      for (int i = 0; i < some; ++i) x[i] = a.x + (c + i) * a.x_stride;
      alignas(64) float out[2][kColumns][16];
      for (int pass = 0; pass < passes; ++pass) {
        const bool is_gate = pass + 1 < passes;
        Ahead ahead;
        if (g == 0) ahead = pass_ahead(a, thread, (tile - begin) * passes + pass + kAhead);
        tile_columns<Product>(some, is_gate ? a.gate : a.weight, row, a.n_out, a.row_bytes, a.n_in,
                              a.scratch, x, out[is_gate], ahead);
      }
      for (int i = 0; i < some; ++i)
        store_products(a, c + i, row, valid, out[0][i], a.gate == nullptr ? nullptr : out[1][i]);
    }
  }
}

// An item is a tile of every expert's matrix, so that threads get equal shares whichever experts
// were chosen.
template <class Product>
static void expert_tiles(const void* args, const etch_thread*, int64_t first, int64_t last) {
  constexpr int kColumns = Product::kColumns;
  const auto& a = *static_cast<const etch_expert_matmul*>(args);
  const int32_t* const places = a.order;
  const int32_t* const pairs = a.order + a.n_experts + 1;
  const int passes = a.gates == nullptr ? 1 : 2;
  for (int32_t e = 0; e < a.n_experts; ++e) {
    const int64_t n = places[e + 1] - places[e];
    if (n == 0) continue;
    const uint8_t* const matrices[2] = {a.base + a.weights[e / a.divisor],
                                        passes == 1 ? nullptr : a.base + a.gates[e / a.divisor]};
    etch_matmul finish{};  // what store_products looks at
    finish.bias = a.bias == nullptr ? nullptr : a.bias + e * a.n_out;
    finish.gate_bias = a.gate_bias == nullptr ? nullptr : a.gate_bias + e * a.n_out;
    finish.activation = a.activation;
    const int64_t n_groups = (n + kColumns - 1) / kColumns;
    for (int64_t tile = first; tile < last; ++tile) {
      const int64_t row = tile * 16;
      const int valid = static_cast<int>(a.n_out - row < 16 ? a.n_out - row : 16);
      for (int64_t g = 0; g < n_groups; ++g) {
        const int64_t c = g * n / n_groups;
        const int some = static_cast<int>((g + 1) * n / n_groups - c);
        const int32_t* const mine = pairs + places[e] + c;
        const uint8_t* x[kColumns];
        for (int i = 0; i < some; ++i)
          x[i] = a.x + (a.x_per_slot != 0 ? mine[i] : mine[i] / a.n_used) * a.x_stride;
        alignas(64) float out[2][kColumns][16];
        for (int pass = passes - 1; pass >= 0; --pass) {
          Ahead ahead;
          if (g == 0 && row + 32 < a.n_out) {
            const int64_t end = row + 48 < a.n_out ? row + 48 : a.n_out;
            ahead = {matrices[pass] + (row + 32) * a.row_bytes, matrices[pass] + end * a.row_bytes};
          }
          tile_columns<Product>(some, matrices[pass], row, a.n_out, a.row_bytes, a.n_in, a.scratch,
                                x, out[pass], ahead);
        }
        for (int i = 0; i < some; ++i) {
          finish.y = a.y + static_cast<int64_t>(mine[i]) * a.n_out * 4;
          store_products(finish, 0, row, valid, out[0][i], passes == 1 ? nullptr : out[1][i]);
        }
      }
    }
  }
}

}  // namespace etch::ETCH_ISA
