// Rows of a table, dequantised, times a factor. An item is a row. An id outside the table gives
// zeros and marks the row.
#pragma once

#include "kernels/formats/plain.h"
#include "kernels/ops/kv_number.h"

namespace etch::ETCH_ISA {

// The decoder of a block format, from the plain words of its file: d * scale first, then times the
// code, then less the minimum; one rounding each (32-element types: plus the minimum).
template <class Format>
struct embed_blocks {
  using Block = typename Format::Block;
  static constexpr int64_t kElements = Format::kElements;

  static void decode(const uint8_t* bytes, float* y) {
    Block b;
    __builtin_memcpy(&b, bytes, sizeof(b));
    uint8_t u[kElements];
    Format::codes(b, u);
    for (int64_t g = 0; g < kElements / Format::kGroup; ++g) {
      float scale = Format::scale(b), minimum = 0;
      if constexpr (Format::kMinimum) minimum = Format::minimum(b);
      if constexpr (kElements == 256) {
        scale *= static_cast<float>(Format::sub_scale(b, g));
        if constexpr (Format::kMinimum)
          minimum = -(minimum * static_cast<float>(Format::sub_minimum(b, g)));
      }
      for (int64_t k = g * Format::kGroup; k < (g + 1) * Format::kGroup; ++k) {
        y[k] = scale * static_cast<float>(u[k] - Format::kOffset);
        if constexpr (Format::kMinimum) y[k] = y[k] + minimum;
      }
    }
  }
  static void row(const uint8_t* bytes, float* y, int64_t d) {
    for (int64_t k = 0; k < d; k += kElements, bytes += sizeof(Block)) decode(bytes, y + k);
  }
  static constexpr int64_t row_bytes(int64_t d) {
    return d / kElements * static_cast<int64_t>(sizeof(Block));
  }
};

// Plain numbers: kv_f32, kv_f16, kv_bf16.
template <class Kv>
struct embed_numbers {
  using Number = typename Kv::Number;
  static void row(const uint8_t* bytes, float* y, int64_t d) {
    for_words(d, [&](int64_t k, int64_t n) {
      Number some[kFloats] = {};
      __builtin_memcpy(some, bytes + k * static_cast<int64_t>(sizeof(Number)),
                       static_cast<size_t>(n) * sizeof(Number));
      store_some(y + k, Kv::load(some), n);
    });
  }
  static constexpr int64_t row_bytes(int64_t d) { return d * static_cast<int64_t>(sizeof(Number)); }
};

template <class Table>
static inline void embed(const void* args, const etch_thread* thread, int64_t first, int64_t last) {
  const etch_embed& a = *static_cast<const etch_embed*>(args);
  const Word factor = W::set(a.factor);
  for (int64_t r = first; r < last; ++r) {
    const int32_t id =
        a.ids != nullptr ? a.ids[r] : thread->step->tokens[token_of(a.rows, *thread->step, r)];
    float* const y = floats_of(a.y, a.rows, r);
    if (id < 0 || id >= a.n_table) {
      __builtin_memset(y, 0, static_cast<size_t>(a.d) * 4);
      mark_failed(thread, a.rows, r);
      continue;
    }
    Table::row(a.table + id * Table::row_bytes(a.d), y, a.d);
    if (a.factor == 1.0f) continue;
    for_words(a.d, [&](int64_t k, int64_t n) {
      store_some(y + k, W::mul(load_some(y + k, n), factor), n);
    });
  }
}

}  // namespace etch::ETCH_ISA
