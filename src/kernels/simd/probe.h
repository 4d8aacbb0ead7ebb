// Every integer word once, for words_test.cc: its result goes to the next 64 bytes of out (of which
// 4 per lane count).
#pragma once

#include "kernels/simd/unrolled.h"

namespace etch::ETCH_ISA {

// in: 4096 random bytes; any_sum: whether dot may be given codes above 127. Returns the bytes
// written.
static int64_t probe(const uint8_t* in, bool any_sum, uint8_t* out) {
  const uint8_t* const begin = out;
  const auto put = [&](V v) {
    store(out, v);
    out += 64;
  };
  const auto put_floats = [&](F f) {
    store_floats(reinterpret_cast<float*>(out), f);
    out += 64;
  };
  const V a = load(in), b = load(in + 64), c = load(in + 128);
  put(all(-7)), put(all_at(in + 3));
  put(bit_and(a, b)), put(bit_or(a, b)), put(bit_xor(a, b));
  put(add(a, b)), put(sub(a, b)), put(mul(a, b)), put(sub8(a, b)), put(add16(a, b));
  put(left<4>(a)), put(right<5>(a)), put(right_signed<24>(a)), put(right_by(a, 0)),
      put(right_by(a, 19));
  put(even_bytes_signed(a)), put(odd_bytes_signed(a));
  put_floats(to_float(a));
  const F f = to_float(a), g = to_float(b), h = to_float(c);
  put_floats(all_floats(0.1f)), put_floats(mul(f, g)), put_floats(fma(f, g, h)),
      put_floats(fnma(f, g, h));
  put_floats(load_floats(reinterpret_cast<const float*>(in + 192)));
  put_floats(low_halves(bit_and(a, all(0x7bff7bff)))),
      put_floats(high_halves(bit_and(a, all(0x7bff7bff))));  // finite
  put(look_up(reinterpret_cast<const int8_t*>(in + 256), bit_and(a, all(0x0f0f0f0f))));
  unrolled<8>([&](auto i) ETCH_LAMBDA { put(fifth_bits<i>(a)); });
  const V small = bit_and(a, all(0x7f7f7f7f)), s = bit_or(b, all(0x01010101));  // s: never -128
  put(pair_products(a, b)), put(pair_products(small, s));
  put(absolute_bytes(a)), put(signed_pair_products(absolute_bytes(a), a, s));
  put(pair_sums(a, b)), put(dot_pairs(c, a, b)), put(dot(c, any_sum ? a : small, s));
  const int64_t strides[] = {16, 18, 210};
  for (const int64_t stride : strides) {
    V t[4];
    transpose(in + 5, stride, t);
    for (const V v : t) put(v);
    put(row_dwords(in + 1, stride));
  }
  return out - begin;
}

}  // namespace etch::ETCH_ISA
