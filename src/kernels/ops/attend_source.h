// Where attention reads K and V: pages of a cache, or the rows of the step. Both give float32
// copies of a block in scratch (K in panels, V in rows padded to whole words); f16, bf16 and f32
// pages can also be read where they are.
#pragma once

#include "kernels/ops/attend_block.h"

namespace etch::ETCH_ISA {

// One head of a cache.
template <class Kv>
struct CachedBlocks {
  using Number = typename Kv::Number;
  static constexpr bool kScaled = sizeof(Number) == 1;
  uint8_t* const* pages;
  int64_t head, d_k, d_v;

  const uint8_t* k_at(int64_t block) const {
    return head_of_page<Kv>(pages[block], head, d_k, d_v);
  }
  const Number* keys(int64_t block) const { return reinterpret_cast<const Number*>(k_at(block)); }
  const Number* values(int64_t block) const {
    return reinterpret_cast<const Number*>(k_at(block) + kv::part_bytes(sizeof(Number), d_k));
  }

  // Panels first .. last - 1.
  void copy_keys(int64_t block, int64_t first, int64_t last, float* k) const {
    const Number* const from = keys(block);
    if constexpr (!kScaled) {
      for (int64_t at = first * d_k; at < last * d_k; ++at)
        W::store(k + at * kFloats, Kv::load(from + at * kFloats));
    } else {
      const auto* const scales = reinterpret_cast<const uint16_t*>(from + kv::kPositions * d_k);
      for (int64_t panel = first; panel < last; ++panel)
        for (int64_t d = 0; d < d_k; d += kv::kGroup) {
          const int64_t group = panel * kv::groups_of(d_k) + d / kv::kGroup;
          const Word scale = W::load_f16(scales + group * kFloats);
          const int64_t end = panel * d_k + attend_work::least(d + kv::kGroup, d_k);
          for (int64_t at = panel * d_k + d; at < end; ++at)
            W::store(k + at * kFloats, W::mul(Kv::load(from + at * kFloats), scale));
        }
    }
  }

  // Positions first .. last - 1.
  void copy_values(int64_t block, int64_t first, int64_t last, float* v) const {
    const Number* const from = values(block);
    const int64_t groups = kv::groups_of(d_v);
    for (int64_t j = first; j < last; ++j) {
      const Number* const row = from + j * d_v;
      float* const to = v + j * padded(d_v);
      for_words(d_v, [&](int64_t k, int64_t n) {
        Word x;
        if (n == kFloats) {
          x = Kv::load(row + k);
        } else {  // nothing behind the last row may be read
          Number some[kFloats] = {};
          __builtin_memcpy(some, row + k, static_cast<size_t>(n) * sizeof(Number));
          x = Kv::load(some);
        }
        if constexpr (kScaled) {
          const auto* const scales = reinterpret_cast<const uint16_t*>(from + kv::kPositions * d_v);
          x = W::mul(x, W::set(W::first_f16(scales + j * groups + k / kv::kGroup)));
        }
        W::store(to + k, x);
      });
    }
  }
};

// The "type" of attention without a cache.
struct kv_of_step {};
template <class Kv>
static constexpr bool kIsCached = true;
template <>
constexpr bool kIsCached<kv_of_step> = false;

// One head of the rows of a run: positions first_position .. first_position + count - 1.
struct RowBlocks {
  const etch_attend& a;
  const etch_run& run;
  int64_t head;

  const float* row(const etch_view& v, int64_t position) const {
    return reinterpret_cast<const float*>(
        v.at + (run.first_row + position - run.first_position) * v.row_stride +
        head * v.inner_stride);
  }
  bool has(int64_t position) const {
    return position >= run.first_position && position - run.first_position < run.count;
  }
  void copy_keys(int64_t block, int64_t first, int64_t last, float* k) const {
    for (int64_t j = first * kFloats; j < last * kFloats; ++j) {
      float* const to = k + j / kFloats * a.d_k * kFloats + j % kFloats;
      const int64_t position = block * kBlock + j;
      const float* const from = has(position) ? row(a.k, position) : nullptr;
      for (int64_t d = 0; d < a.d_k; ++d) to[d * kFloats] = from == nullptr ? 0.0f : from[d];
    }
  }
  void copy_values(int64_t block, int64_t first, int64_t last, float* v) const {
    for (int64_t j = first; j < last; ++j) {
      const float* const from = row(a.v, block * kBlock + j);
      for_words(a.d_v, [&](int64_t k, int64_t n) {
        W::store(v + j * padded(a.d_v) + k, load_some(from + k, n));
      });
    }
  }
};

}  // namespace etch::ETCH_ISA
