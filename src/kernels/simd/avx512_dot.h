// Products for AVX-512 without VNNI: byte pairs.
#pragma once

#include "kernels/simd/avx512_words.h"

namespace etch::ETCH_ISA {

constexpr bool kHasDot = false;
ETCH_WORD V dot(V sum, V u, V s) {  // where sums of two products fit int16
  return add(sum, pair_sums(pair_products(u, s), all(0x00010001)));
}
ETCH_WORD V dot_pairs(V sum, V a, V b) { return add(sum, pair_sums(a, b)); }

}  // namespace etch::ETCH_ISA
