// Sizes that panel kernels share with their description: the scratch of one thread. Internal
// linkage, see share.h.
//
//   scratch   [ panel | gate panel, if there is a gate | sums, if n_in takes several chunks | rows
//   of a last, short tile ]
//
// A panel holds kPanelRows rows x a chunk of k as bytes, block after block, each behind its header
// of scales.
#pragma once

#include <cstdint>

namespace etch::panel_layout {

constexpr int64_t kPanelRows = 32;
constexpr int64_t kChunk = 8192;       // elements of k converted at once; a multiple of 256
constexpr int64_t kPassColumns = 192;  // columns whose sums wait in scratch while the chunks go by

// Bytes of the header of one block of one row in a panel, at most: scales and minimums of 16
// groups, d, dmin.
static constexpr int64_t header_bytes(int64_t block) { return block == 256 ? 40 : 8; }

static constexpr int64_t panel_bytes(int64_t n_in, int64_t block) {
  const int64_t k = n_in < kChunk ? n_in : kChunk;
  return kPanelRows * (k + k / block * header_bytes(block));
}
static constexpr int64_t sums_bytes(int64_t n_in) {
  return n_in <= kChunk ? 0 : kPanelRows * kPassColumns * 4;
}

}  // namespace etch::panel_layout
