// Products of a few columns (decode and up to some 16 rows): 16 rows of the weight become lanes by
// a transpose in registers and meet up to kColumns columns there.
#pragma once

#include "kernels/ops/reference.h"
#include "kernels/ops/tiles.h"

#if ETCH_ROWS_ABREAST
#include "kernels/ops/abreast.h"
#endif

namespace etch::ETCH_ISA {

#if ETCH_ROWS_ABREAST

// Columns that meet a tile at once: their sums stay in registers.
constexpr int kRegisterColumns = kLanes == 16 ? 8 : 4;

// Products of 16 rows with kColumns columns that begin at x[c], into out[c].
template <class Format, int kColumns>
static __attribute__((noinline)) void tile_product(const uint8_t* rows, int64_t stride,
                                                   int64_t n_in, const uint8_t* const* x,
                                                   float (*out)[16], Ahead ahead) {
  using Group = typename Format::Group;
  constexpr int kParts = 16 / kLanes;
  constexpr int64_t kBlockBytes = sizeof(typename Format::Block);
  const int64_t n_blocks = n_in / Format::kElements;
  for (int part = 0; part < kParts; ++part) {
    const uint8_t* b = rows + part * kLanes * stride;
    F acc[kColumns];
    unrolled<kColumns>([&](auto c) ETCH_LAMBDA { acc[c] = all_floats(0.0f); });
    for (int64_t at = 0; at < n_blocks; ++at, b += kBlockBytes) {
      ahead.step<16 * kBlockBytes / kParts>();
      const int64_t codes_at = at * Format::kElements;
      const int64_t group_at = n_in + at * static_cast<int64_t>(sizeof(Group));
      const auto group = [&](int c) ETCH_LAMBDA -> const Group& {
        return *reinterpret_cast<const Group*>(x[c] + group_at);
      };
      const typename Format::Header h = Format::header(b, stride);
      V sum[kColumns];
      if constexpr (kIsWide<Format>)
        unrolled<kColumns>([&](auto c) ETCH_LAMBDA { sum[c] = all(0); });
      for (int u = 0; u < Format::kUnits; ++u) {
        const int first_group = Format::unit_group(u);
        Format::unit(b, stride, u, [&](auto g, const V* w) ETCH_LAMBDA {
          Term<Format> terms[kQuads<Format>];
          unrolled<kQuads<Format>>([&](auto i) ETCH_LAMBDA { terms[i] = term<Format>(w[i]); });
          const int64_t from = codes_at + (first_group + g) * Format::kGroup;
          if constexpr (kIsWide<Format>) {
            const V by = multiplier<Format>(group_scale<Format>(h, first_group + g));
            unrolled<kColumns>([&](auto c) ETCH_LAMBDA {
              Sum<Format> t;
              t.start(sums_of<Format>(group(c), first_group + g));
              t.take(terms, x[c] + from, by);
              sum[c] = scaled(sum[c], t, by);
            });
          } else {
            unrolled<kColumns>([&](auto c) ETCH_LAMBDA {
              Sum<Format> t;
              t.start(&group(c).n);
              t.take(terms, x[c] + from, all(0x00010001));
              acc[c] = chain<Format>(acc[c], t.t, h, group(c));
            });
          }
        });
      }
      if constexpr (kIsWide<Format>)
        unrolled<kColumns>(
            [&](auto c) ETCH_LAMBDA { acc[c] = chain<Format>(acc[c], sum[c], h, group(c)); });
    }
    unrolled<kColumns>([&](auto c) ETCH_LAMBDA { store_floats(out[c] + part * kLanes, acc[c]); });
  }
}

// The same for a number of columns known only now. There is not an instance for each number: the
// last column is repeated, and its copies are not looked at.
template <class Format>
static inline void tile_product_of(int n, const uint8_t* rows, int64_t stride, int64_t n_in,
                                   const uint8_t** x, float (*out)[16], Ahead ahead) {
  for (int c = n; c < kRegisterColumns; ++c) x[c] = x[n - 1];
  if (n == 1) return tile_product<Format, 1>(rows, stride, n_in, x, out, ahead);
  if (n == 2) return tile_product<Format, 2>(rows, stride, n_in, x, out, ahead);
  if constexpr (kRegisterColumns == 8) {
    if (n == 3) return tile_product<Format, 3>(rows, stride, n_in, x, out, ahead);
    if (n == 5 || n == 6) return tile_product<Format, 6>(rows, stride, n_in, x, out, ahead);
    if (n > 6) return tile_product<Format, 8>(rows, stride, n_in, x, out, ahead);
  }
  tile_product<Format, 4>(rows, stride, n_in, x, out, ahead);
}

template <class Format>
struct RegistersProduct {
  static constexpr int kColumns = kRegisterColumns;
  static constexpr bool kWholeTiles = true;
  ETCH_WORD void product(int n, const uint8_t* rows, int, int64_t row_bytes, int64_t n_in,
                         const uint8_t** x, float (*out)[16], Ahead& ahead) {
    tile_product_of<Format>(n, rows, row_bytes, n_in, x, out, ahead);
  }
};

#else

template <class Format>
using RegistersProduct = ReferenceProduct<Format>;

#endif

template <class Format>
static void registers(const void* args, const etch_thread* thread, int64_t first, int64_t last) {
  dense_tiles<RegistersProduct<Format>>(args, thread, first, last);
}

template <class Format>
static void expert_registers(const void* args, const etch_thread* thread, int64_t first,
                             int64_t last) {
  expert_tiles<RegistersProduct<Format>>(args, thread, first, last);
}

}  // namespace etch::ETCH_ISA
