// How a KV cache lies in memory. A page holds the 128 positions of an attention block, head after
// head; a head is [ K | V ], head_bytes() long.
//
//   f16, f32, bf16
//     K   [8 panels][d_k][16 positions]   a word is one entry of 16 positions: no horizontal sums
//     V   [128 positions][d_v]            a word is 16 entries of one position
//
//   q8_0: 32 entries of a position share a scale (the last group may be short)
//     K   codes i8 [8][d_k][16]           scales f16 [8][groups][16]
//     V   codes i8 [128][d_v]             scales f16 [128][groups]
//     scale = f16(amax / 127)             code = nearest even of x * (1 / scale), -127 .. 127
//     scale 0: all codes are 0            value = scale * code, exactly
//
// All parts begin on a multiple of 64 bytes. Internal linkage: read by kernels of every instruction
// set.
#pragma once

#include <cstdint>

#include "etch/model_abi.h"

namespace etch::kv {

static constexpr int64_t kPositions = ETCH_PAGE_POSITIONS;
static constexpr int64_t kPanel = 16;  // positions of a panel of K
static constexpr int64_t kPanels = kPositions / kPanel;
static constexpr int64_t kGroup = 32;  // entries that share a scale

static constexpr int64_t groups_of(int64_t d) { return (d + kGroup - 1) / kGroup; }
// Bytes of 128 positions of d entries, bytes_each per number; 1 is q8_0 with its scales.
static constexpr int64_t part_bytes(int64_t bytes_each, int64_t d) {
  return kPositions * (bytes_each * d + (bytes_each == 1 ? 2 * groups_of(d) : 0));
}
static constexpr int64_t head_bytes(int64_t bytes_each, int64_t d_k, int64_t d_v) {
  return part_bytes(bytes_each, d_k) + part_bytes(bytes_each, d_v);
}

}  // namespace etch::kv
