// How quantised inputs lie in memory (arithmetic.md section 1). Kernels of every instruction set
// include this file, so it holds data and constants only.
//
// A group is 32 or 256 elements that share a scale; d_x, sums and their orders are kept beside the
// codes:
//
//   rows (q8_32, q8_256)         [ codes: i8 x d | groups: d / 32 or d / 256 structs | pad to 64 ]
//   one such row after
//                                another, activation_row_bytes() apart
//   packed (q8_32_packed, ...)   columns (rows of x) in blocks of 6, the last one padded with
//   zeros:
//                                [ codes: i8 [d / 4][6][4] | groups: struct [d / 32 or d / 256][6]
//                                | pad to 64 ]
//
// In a packed block the four codes k .. k + 3 of a column are one dword, and the dwords of the
// columns that a panel kernel broadcasts one after the other are neighbours.
#pragma once

#include <cstddef>
#include <cstdint>

namespace etch::activations {

struct Group32 {
  float d;    // the scale
  float s;    // rounded(d * float(n)): what a minimum of the weights is multiplied by
  int32_t n;  // sum of the 32 codes
};

struct Group256 {
  float d;
  int32_t n16[16];  // sums of 16 codes
  int32_t n32[8];   // sums of 32
  // The same as int16 pairs for 16-bit dots with minimums or scales, in the order in which masking
  // every other byte of a dword of bytes leaves them: dword 2i holds (4i, 4i + 2), dword 2i + 1
  // holds (4i + 1, 4i + 3).
  int16_t pairs16[16];
  int16_t pairs32[8];
};

static_assert(sizeof(Group32) == 12 && sizeof(Group256) == 148);

constexpr int64_t kPadding = 64;

}  // namespace etch::activations
