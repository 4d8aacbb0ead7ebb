// The blocks of every quantised element type, as they lie in a file (formats: little endian). Data
// only: kernels of every instruction set include this header, so nothing in it may become code.
//
// All structs are packed: a block may start at any address. A drawing shows the fields in order,
// each as name:width x count. Half floats are kept as their 16 bits. i counts elements inside the
// block.
#pragma once

#include <cstddef>
#include <cstdint>

#define ETCH_BLOCK struct __attribute__((packed))

namespace etch::blocks {

// ---- 32 elements -------------------------------------------------------------------------------
// In all of them byte i of qs holds element i in its low nibble and element i + 16 in its high one.

// x = d * (q - 8)
//   [ d:f16 | qs:u8 x 16 ]
ETCH_BLOCK q4_0 {
  uint16_t d;
  uint8_t qs[16];
};

// x = d * q + m
//   [ d:f16 | m:f16 | qs:u8 x 16 ]
ETCH_BLOCK q4_1 {
  uint16_t d, m;
  uint8_t qs[16];
};

// x = d * (q - 16); bit i of qh (32 bits, little endian) is the fifth bit of element i.
//   [ d:f16 | qh:u8 x 4 | qs:u8 x 16 ]
ETCH_BLOCK q5_0 {
  uint16_t d;
  uint8_t qh[4];
  uint8_t qs[16];
};

// x = d * q + m, the fifth bits as in q5_0
//   [ d:f16 | m:f16 | qh:u8 x 4 | qs:u8 x 16 ]
ETCH_BLOCK q5_1 {
  uint16_t d, m;
  uint8_t qh[4];
  uint8_t qs[16];
};

// x = d * q
//   [ d:f16 | qs:i8 x 32 ]
ETCH_BLOCK q8_0 {
  uint16_t d;
  int8_t qs[32];
};

// x = d * kIq4Values[q]
//   [ d:f16 | qs:u8 x 16 ]
ETCH_BLOCK iq4_nl {
  uint16_t d;
  uint8_t qs[16];
};

// ---- 256 elements ------------------------------------------------------------------------------
// Two-bit codes (q2_k, q3_k, the high bits of q6_k): one half of the block is 32 bytes; byte l
// holds the elements l, l + 32, l + 64, l + 96 of its half, from the low bits up.
//
//   byte l of a half      7 6   5 4   3 2   1 0
//                         l+96  l+64  l+32  l

// x = d * (scales[g] & 15) * q - dmin * (scales[g] >> 4), g = i / 16
//   [ scales:u8 x 16 | qs:u8 x 64 | d:f16 | dmin:f16 ]
ETCH_BLOCK q2_k {
  uint8_t scales[16];
  uint8_t qs[64];
  uint16_t d, dmin;
};

// x = d * (s_g - 32) * (q - 4), g = i / 16; bit i / 32 of hmask[i % 32] is the third bit of q. The
// sixteen 6-bit s_g:
//
//   scales[0..7]     bits 3-0: low 4 bits of s_0..s_7     bits 7-4: low 4 bits of s_8..s_15
//   scales[8 + j]    bits 1-0: high 2 bits of s_j         bits 3-2: of s_(j+4)
//                    bits 5-4: of s_(j+8)                 bits 7-6: of s_(j+12)
//   [ hmask:u8 x 32 | qs:u8 x 64 | scales:u8 x 12 | d:f16 ]
ETCH_BLOCK q3_k {
  uint8_t hmask[32];
  uint8_t qs[64];
  uint8_t scales[12];
  uint16_t d;
};

// x = d * s_g * q - dmin * m_g, g = i / 32. Byte i of each 32 bytes of qs holds element i of an
// even group in its low nibble and element i of the odd group behind it in its high one. Eight
// 6-bit s and eight 6-bit m:
//
//   scales[0..3]     bits 5-0: s_0..s_3     bits 7-6: high 2 bits of s_4..s_7
//   scales[4..7]     bits 5-0: m_0..m_3     bits 7-6: high 2 bits of m_4..m_7
//   scales[8..11]    bits 3-0: low 4 bits of s_4..s_7     bits 7-4: low 4 bits of m_4..m_7
//   [ d:f16 | dmin:f16 | scales:u8 x 12 | qs:u8 x 128 ]
ETCH_BLOCK q4_k {
  uint16_t d, dmin;
  uint8_t scales[12];
  uint8_t qs[128];
};

// As q4_k; bit g of qh[i % 32] is the fifth bit of q.
//   [ d:f16 | dmin:f16 | scales:u8 x 12 | qh:u8 x 32 | qs:u8 x 128 ]
ETCH_BLOCK q5_k {
  uint16_t d, dmin;
  uint8_t scales[12];
  uint8_t qh[32];
  uint8_t qs[128];
};

// x = d * scales[i / 16] * (q - 32). Per half (64 bytes of ql, 32 of qh): element 32 g + l has its
// low 4 bits in byte 32 (g % 2) + l of ql (low nibble for g < 2, else high) and its high 2 bits in
// byte l of qh (bits 2g+1..2g).
//   [ ql:u8 x 128 | qh:u8 x 64 | scales:i8 x 16 | d:f16 ]
ETCH_BLOCK q6_k {
  uint8_t ql[128];
  uint8_t qh[64];
  int8_t scales[16];
  uint16_t d;
};

// x = d * (s_g - 32) * kIq4Values[q], g = i / 32; 16 bytes of qs per group, nibbles as in iq4_nl.
// s_g: low 4 bits in nibble g of scales_l (low nibble first), high 2 bits in bits 2g+1..2g of
// scales_h.
//   [ d:f16 | scales_h:u16 | scales_l:u8 x 4 | qs:u8 x 128 ]
ETCH_BLOCK iq4_xs {
  uint16_t d;
  uint16_t scales_h;
  uint8_t scales_l[4];
  uint8_t qs[128];
};

// The values of iq4_nl and iq4_xs: denser near zero, where weights are.
constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                   1,    13,   25,  38,  53,  69,  89,  113};

static_assert(sizeof(q4_0) == 18 && sizeof(q4_1) == 20 && sizeof(q5_0) == 22 &&
              sizeof(q5_1) == 24 && sizeof(q8_0) == 34 && sizeof(iq4_nl) == 18);
static_assert(sizeof(q2_k) == 84 && sizeof(q3_k) == 110 && sizeof(q4_k) == 144 &&
              sizeof(q5_k) == 176 && sizeof(q6_k) == 210 && sizeof(iq4_xs) == 136);

}  // namespace etch::blocks

#undef ETCH_BLOCK
