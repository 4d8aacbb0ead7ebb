// Products for AVX-512 VNNI: four bytes and a sum in one instruction.
#pragma once

#include "kernels/simd/avx512_words.h"

namespace etch::ETCH_ISA {

constexpr bool kHasDot = true;
ETCH_WORD V dot(V sum, V u, V s) { return _mm512_dpbusd_epi32(sum, u, s); }
ETCH_WORD V dot_pairs(V sum, V a, V b) { return _mm512_dpwssd_epi32(sum, a, b); }

}  // namespace etch::ETCH_ISA
