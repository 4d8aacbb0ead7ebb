// Products of many columns (prefill). 32 rows of the weight are converted to a panel of bytes in
// this thread's scratch, then all blocks of 6 columns go by:
//
//   panel, 512 bits   for each block of the rows:  [ header rows 0-15 | header rows 16-31 |
//                       codes 0-3 rows 0-15 | codes 0-3 rows 16-31 | codes 4-7 rows 0-15 | ... ]
//   (256 bits: four such strips of 8 rows, one after the other)
//
// The inner loop loads kTileVectors vectors of weights and, for each of 6 columns, broadcasts one
// dword of codes from memory; its sums stay in registers. 2 x 6 reaches the limit of the
// multipliers (kernel-findings.md section 3).
#pragma once

#include "kernels/ops/reference.h"

#if ETCH_ROWS_ABREAST
#include "kernels/ops/abreast.h"
#include "kernels/ops/prefetch.h"
#include "kernels/ops/tile.h"
#include "kernels/panel_layout.h"
#endif

namespace etch::ETCH_ISA {

#if ETCH_ROWS_ABREAST

constexpr int kPanelRows = panel_layout::kPanelRows;
constexpr int kStripRows = kLanes * kTileVectors;
constexpr int kStrips = kPanelRows / kStripRows;
constexpr int kVectorBytes = 4 * kLanes;

// One block of a strip.
template <class Format>
struct PanelBlock {
  static constexpr int64_t kHeaders =
      static_cast<int64_t>(sizeof(typename Format::Header)) * kTileVectors;
  static constexpr int64_t kBytes = kHeaders + Format::kElements / 4 * kVectorBytes * kTileVectors;
  static_assert(kBytes * kStrips <=
                kPanelRows * (Format::kElements + panel_layout::header_bytes(Format::kElements)));
};

// Blocks 0 .. n_blocks - 1 of 32 rows into a panel.
template <class Format>
static __attribute__((noinline)) void convert_tile(const uint8_t* rows, int64_t stride,
                                                   int64_t n_blocks, uint8_t* panel) {
  using Header = typename Format::Header;
  for (int strip = 0; strip < kStrips; ++strip) {
    for (int64_t at = 0; at < n_blocks; ++at, panel += PanelBlock<Format>::kBytes) {
      for (int v = 0; v < kTileVectors; ++v) {
        const uint8_t* const b = rows + (strip * kStripRows + v * kLanes) * stride +
                                 at * static_cast<int64_t>(sizeof(typename Format::Block));
        reinterpret_cast<Header*>(panel)[v] = Format::header(b, stride);
        uint8_t* const codes = panel + PanelBlock<Format>::kHeaders + v * kVectorBytes;
        for (int u = 0; u < Format::kUnits; ++u) {
          Format::unit(b, stride, u, [&](auto g, const V* w) ETCH_LAMBDA {
            uint8_t* const to =
                codes + (Format::unit_group(u) + g) * kQuads<Format> * kVectorBytes * kTileVectors;
            unrolled<kQuads<Format>>(
                [&](auto i) ETCH_LAMBDA { store(to + i * kVectorBytes * kTileVectors, w[i]); });
          });
        }
      }
    }
  }
}

// The products of one group of one strip with kColumns columns. codes: the strip's; x: the
// columns'.
template <class Format, int kColumns>
struct GroupProducts {
  Sum<Format> t[kColumns][kTileVectors];

  template <int quad = 0>
  ETCH_METHOD void take(const uint8_t* codes, const uint8_t* x, const V* by) {
    if constexpr (quad < kQuads<Format>) {
      // The weights stay in registers: folded into each dot as an operand they would be loaded six
      // times.
      V w[kTileVectors];
      Term<Format> terms[kTileVectors];
      unrolled<kTileVectors>([&](auto v) ETCH_LAMBDA {
        w[v] = load(codes + (quad * kTileVectors + v) * kVectorBytes);
        pin(w[v]);
        terms[v] = term<Format>(w[v]);
      });
      unrolled<kColumns>([&](auto c) ETCH_LAMBDA {
        const V codes_of_column = all_at(x + (quad * ETCH_PANEL_COLUMNS + c) * 4);
        unrolled<kTileVectors>([&](auto v) ETCH_LAMBDA {
          t[c][v].template step<quad>(terms[v], codes_of_column, by[v]);
        });
      });
      take<quad + 1>(codes, x, by);
    }
  }
};

// Sums of one strip with kColumns columns over n_blocks blocks: out[c][row of the panel] is where
// they begin and end. 32-element blocks: the float sums stay in registers.
template <class Format, int kColumns>
ETCH_WORD void strip_products(const uint8_t* panel, int64_t n_blocks, const uint8_t* x,
                              const Group32* groups, float (*out)[kPanelRows]) {
  F acc[kColumns][kTileVectors];
  const auto each = [](auto body) ETCH_LAMBDA {
    unrolled<kColumns>([&](auto c) ETCH_LAMBDA {
      unrolled<kTileVectors>([&](auto v) ETCH_LAMBDA { body(c, v); });
    });
  };
  V ones[kTileVectors];
  unrolled<kTileVectors>([&](auto v) ETCH_LAMBDA { ones[v] = all(0x00010001); });
  each([&](auto c, auto v) ETCH_LAMBDA { acc[c][v] = load_floats(out[c] + v * kLanes); });
  for (int64_t at = 0; at < n_blocks; ++at) {
    GroupProducts<Format, kColumns> products;
    each([&](auto c, auto v) ETCH_LAMBDA { products.t[c][v].start(&groups[c].n); });
    products.take(panel + PanelBlock<Format>::kHeaders, x, ones);
    const auto* const h = reinterpret_cast<const typename Format::Header*>(panel);
    each([&](auto c, auto v) ETCH_LAMBDA {
      acc[c][v] = chain<Format>(acc[c][v], products.t[c][v].t, h[v], groups[c]);
    });
    panel += PanelBlock<Format>::kBytes;
    x += 32 * ETCH_PANEL_COLUMNS;
    groups += ETCH_PANEL_COLUMNS;
  }
  each([&](auto c, auto v) ETCH_LAMBDA { store_floats(out[c] + v * kLanes, acc[c][v]); });
}

// 256-element blocks: the integer sums of a super-block stay in registers, the float sums wait in
// memory.
template <class Format, int kColumns>
ETCH_WORD void strip_products(const uint8_t* panel, int64_t n_blocks, const uint8_t* x,
                              const Group256* groups, float (*out)[kPanelRows]) {
  const auto each = [](auto body) ETCH_LAMBDA {
    unrolled<kColumns>([&](auto c) ETCH_LAMBDA {
      unrolled<kTileVectors>([&](auto v) ETCH_LAMBDA { body(c, v); });
    });
  };
  for (int64_t at = 0; at < n_blocks; ++at) {
    const auto* const h = reinterpret_cast<const typename Format::Header*>(panel);
    V sum[kColumns][kTileVectors];
    each([&](auto c, auto v) ETCH_LAMBDA { sum[c][v] = all(0); });
    const uint8_t* codes = panel + PanelBlock<Format>::kHeaders;
    for (int g = 0; g < 256 / Format::kGroup; ++g) {
      V by[kTileVectors];
      unrolled<kTileVectors>(
          [&](auto v) ETCH_LAMBDA { by[v] = multiplier<Format>(group_scale<Format>(h[v], g)); });
      GroupProducts<Format, kColumns> products;
      each([&](auto c, auto v)
               ETCH_LAMBDA { products.t[c][v].start(sums_of<Format>(groups[c], g)); });
      products.take(codes, x, by);
      each([&](auto c, auto v)
               ETCH_LAMBDA { sum[c][v] = scaled(sum[c][v], products.t[c][v], by[v]); });
      codes += kQuads<Format> * kTileVectors * kVectorBytes;
      x += Format::kGroup * ETCH_PANEL_COLUMNS;
    }
    each([&](auto c, auto v) ETCH_LAMBDA {
      float* const to = out[c] + v * kLanes;
      store_floats(to, chain<Format>(load_floats(to), sum[c][v], h[v], groups[c]));
    });
    panel += PanelBlock<Format>::kBytes;
    groups += ETCH_PANEL_COLUMNS;
  }
}

// All strips of a panel with kColumns columns.
template <class Format, int kColumns>
static __attribute__((noinline)) void panel_products(const uint8_t* panel, int64_t n_blocks,
                                                     const uint8_t* x,
                                                     const typename Format::Group* groups,
                                                     float (*out)[kPanelRows]) {
  for (int strip = 0; strip < kStrips; ++strip) {
    auto* const rows = reinterpret_cast<float(*)[kPanelRows]>(&out[0][strip * kStripRows]);
    strip_products<Format, kColumns>(panel + strip * n_blocks * PanelBlock<Format>::kBytes,
                                     n_blocks, x, groups, rows);
  }
}

template <class Format, int kColumns = ETCH_PANEL_COLUMNS>
static inline void panel_products_of(int n, const uint8_t* panel, int64_t n_blocks,
                                     const uint8_t* x, const typename Format::Group* groups,
                                     float (*out)[kPanelRows]) {
  if constexpr (kColumns > 1) {
    if (n < kColumns)
      return panel_products_of<Format, kColumns - 1>(n, panel, n_blocks, x, groups, out);
  }
  panel_products<Format, kColumns>(panel, n_blocks, x, groups, out);
}

// One tile of 32 rows. Rows of up to kChunk elements are converted once; longer ones chunk by
// chunk, while the sums of a pass of kPassColumns columns wait in scratch.
template <class Format>
static inline void panel_tile(const etch_matmul& a, int64_t n, int64_t tile, Ahead ahead) {
  using Group = typename Format::Group;
  constexpr int64_t kColumns = ETCH_PANEL_COLUMNS;
  constexpr int64_t kElements = Format::kElements;
  const int64_t row = tile * kPanelRows;
  const int valid = static_cast<int>(a.n_out - row < kPanelRows ? a.n_out - row : kPanelRows);
  const int matrices = a.gate == nullptr ? 1 : 2;
  const int64_t panel_bytes = panel_layout::panel_bytes(a.n_in, kElements);
  uint8_t* const sums = a.scratch + matrices * panel_bytes;
  uint8_t* const rest = sums + matrices * panel_layout::sums_bytes(a.n_in);
  const bool whole = a.n_in <= panel_layout::kChunk;
  const int64_t pass = whole ? n : panel_layout::kPassColumns;
  const int64_t block_bytes = padded_bytes<Group>(a.n_in, kColumns);
  const int64_t lines = (ahead.end - ahead.at + 63) / 64;
  const int64_t column_blocks = (n + kColumns - 1) / kColumns;
  const int64_t lines_a_step = (lines + column_blocks - 1) / column_blocks;

  for (int64_t begin = 0; begin < n; begin += pass) {
    const int64_t end = n - begin < pass ? n : begin + pass;
    for (int64_t k = 0; k < a.n_in; k += panel_layout::kChunk) {
      const int64_t n_k = a.n_in - k < panel_layout::kChunk ? a.n_in - k : panel_layout::kChunk;
      const bool is_last = k + n_k == a.n_in;
      for (int m = 0; m < matrices; ++m) {
        const uint8_t* const rows =
            whole_tile(m == 0 ? a.weight : a.gate, row, a.n_out, a.row_bytes, kPanelRows, rest);
        convert_tile<Format>(
            rows + k / kElements * static_cast<int64_t>(sizeof(typename Format::Block)),
            a.row_bytes, n_k / kElements, a.scratch + m * panel_bytes);
      }
      for (int64_t c = begin; c < end; c += kColumns) {
        ahead.lines(lines_a_step);
        const int some = static_cast<int>(end - c < kColumns ? end - c : kColumns);
        const uint8_t* const block = a.x + c / kColumns * block_bytes;
        const auto* const groups =
            reinterpret_cast<const Group*>(block + kColumns * a.n_in) + k / kElements * kColumns;
        alignas(64) float local[2][kColumns][kPanelRows];
        float(*out[2])[kPanelRows];
        for (int m = 0; m < matrices; ++m) {
          // The sums of a pass: [matrix][column][32 rows].
          auto* const waiting =
              reinterpret_cast<float(*)[kPanelRows]>(sums) + m * panel_layout::kPassColumns;
          out[m] = whole ? local[m] : waiting + (c - begin);
          if (k == 0) __builtin_memset(out[m], 0, static_cast<size_t>(some) * sizeof local[0][0]);
          panel_products_of<Format>(some, a.scratch + m * panel_bytes, n_k / kElements,
                                    block + kColumns * k, groups, out[m]);
        }
        if (!is_last) continue;
        for (int i = 0; i < some; ++i)
          for (int part = 0; part < valid; part += 16)
            store_products(a, c + i, row + part, valid - part < 16 ? valid - part : 16,
                           out[0][i] + part, matrices == 2 ? out[1][i] + part : nullptr);
      }
    }
  }
}

template <class Format>
static void panel(const void* args, const etch_thread* thread, int64_t first, int64_t last) {
  const auto& a = *static_cast<const etch_matmul*>(args);
  const int64_t n = count_rows(a.rows, thread);
  const int64_t mine =
      share((a.n_out + kPanelRows - 1) / kPanelRows, thread->index + 1, thread->count);
  for (int64_t tile = first; tile < last; ++tile) {
    Ahead ahead;
    if (tile + 1 < mine) {
      const int64_t next = (tile + 1) * kPanelRows;
      const int64_t end = next + kPanelRows < a.n_out ? next + kPanelRows : a.n_out;
      ahead = {a.weight + next * a.row_bytes, a.weight + end * a.row_bytes};
    }
    panel_tile<Format>(a, n, tile, ahead);
  }
}

#else

template <class F>
static void panel(const void* args, const etch_thread* thread, int64_t first, int64_t last) {
  reference_panel<F>(args, thread, first, last);
}

#endif

}  // namespace etch::ETCH_ISA
