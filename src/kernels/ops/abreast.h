// Products where rows stand side by side (formats/abreast.h), one group after the other: what
// registers.h and panel.h share. Sums of a group are exact int32 in any order; every set of
// instructions gets them in its own way:
//
//   four-byte dots   t starts at -offset * n and takes any unsigned byte; then sum += scale * t
//   byte pairs       products of two bytes in int16, as many of them added as fit (kRoom), then
//   widened into the sum
//                    with the scale as multiplier; the offset is taken off once, by 16-bit dots of
//                    scales and sums. Codes above 127 do not fit: they become signed, magnitude
//                    times turned sign, and have no offset
#pragma once

#include "kernels/ops/columns.h"
#include "kernels/simd/unrolled.h"

namespace etch::ETCH_ISA {

template <class F>
constexpr bool kIsWide = F::kElements == 256;
template <class F>
constexpr bool kSignedPairs = !kHasDot && F::kLargest > 127;
template <class F>
constexpr int kRoom = kSignedPairs<F> ? 1 : 32767 / (2 * 127 * F::kLargest);
template <class F>
constexpr int kQuads = F::kGroup / 4;
// Whether the sum starts below zero, and whether the offset is taken off behind a super-block.
template <class F>
constexpr bool kStartsBelow = F::kOffset != 0 && !kSignedPairs<F> && (kHasDot || !kIsWide<F>);
template <class F>
constexpr bool kOffsetBehind = F::kOffset != 0 && !kSignedPairs<F> && !kStartsBelow<F>;

constexpr int log2(int power) { return power <= 1 ? 0 : 1 + log2(power / 2); }

// Four codes of each row, ready to be multiplied.
template <class F>
struct Term {
  V code;
  V magnitude;  // of signed pairs
};
template <class F>
ETCH_WORD Term<F> term(V u) {
  Term<F> t;
  if constexpr (kSignedPairs<F>) {
    t.code = bit_xor(u, all(static_cast<int32_t>(0x80808080u)));
    t.magnitude = absolute_bytes(t.code);
  } else {
    t.code = u;
  }
  return t;
}

// What a group's scale is multiplied as.
template <class F>
ETCH_WORD V multiplier(V scale) {
  if constexpr (kHasDot) return scale;
  return bit_or(left<16>(scale), bit_and(scale, all(0xffff)));
}

// -offset * n, where n is the group's sum; or zero.
template <class F>
ETCH_WORD V start_at(const int32_t* n) {
  if constexpr (kStartsBelow<F>) return sub(all(0), left<log2(F::kOffset)>(all_at(n)));
  return all(0);
}

// The sum over one group of one column for kLanes rows.
template <class F>
struct Sum {
  V t, pairs;

  ETCH_METHOD void start(const int32_t* n) { t = start_at<F>(n); }

  // Takes four more products of each row, the quad-th of the group. x: the column's codes, in every
  // lane.
  template <int quad>
  ETCH_METHOD void step(const Term<F>& w, V x, V by) {
    if constexpr (kHasDot) {
      t = dot(t, w.code, x);
    } else {
      V p;
      if constexpr (kSignedPairs<F>) {
        p = signed_pair_products(w.magnitude, w.code, x);
      } else {
        p = pair_products(w.code, x);
      }
      pairs = quad % kRoom<F> == 0 ? p : add16(pairs, p);
      if constexpr (quad % kRoom<F> == kRoom<F> - 1 || quad == kQuads<F> - 1)
        t = add(t, pair_sums(pairs, by));
    }
  }

  // All of the group; its codes are neighbours.
  template <int quad = 0>
  ETCH_METHOD void take(const Term<F>* w, const uint8_t* codes, V by) {
    if constexpr (quad < kQuads<F>) {
      step<quad>(w[quad], all_at(codes + 4 * quad), by);
      take<quad + 1>(w, codes, by);
    }
  }
};

// Where a super-block's sum stands before its first group, and what the sum of a group adds to it:
// four-byte dots are scaled now, pairs were while they were widened.
template <class F>
ETCH_WORD V scaled(V sum, const Sum<F>& group, V by) {
  if constexpr (kHasDot) return add(sum, mul(group.t, by));
  return add(sum, group.t);
}

// sum over g of a_g * n_g by 16-bit dots; a: bytes of scales or minimums, pairs: of the same
// column.
template <int kWords, bool kSigned>
ETCH_WORD V weighted_sums(const V* a, const int16_t* pairs) {
  V m = all(0);
  unrolled<kWords>([&](auto q) ETCH_LAMBDA {
    const V even = kSigned ? even_bytes_signed(a[q]) : bit_and(a[q], all(0x00ff00ff));
    const V odd = kSigned ? odd_bytes_signed(a[q]) : bit_and(right<8>(a[q]), all(0x00ff00ff));
    m = dot_pairs(m, even, all_at(pairs + 4 * q));
    m = dot_pairs(m, odd, all_at(pairs + 4 * q + 2));
  });
  return m;
}

template <class Format>
ETCH_WORD const int16_t* pairs_of(const Group256& x) {
  return Format::kGroup == 16 ? x.pairs16 : x.pairs32;
}
template <class Format>
ETCH_WORD const int32_t* sums_of(const Group256& x, int g) {
  return Format::kGroup == 16 ? x.n16 + g : x.n32 + g;
}

// The chain of one column, behind a block: acc = fma(float(t), rounded(d * d_x), acc), and the
// minimum's.
template <class Format>
ETCH_WORD F chain(F acc, V t, const typename Format::Header& h, const Group32& x) {
  acc = fma(to_float(t), mul(h.d, all_floats(x.d)), acc);
  if constexpr (Format::kMinimum) acc = fma(h.m, all_floats(x.s), acc);
  return acc;
}
template <class Format>
ETCH_WORD F chain(F acc, V sum, const typename Format::Header& h, const Group256& x) {
  constexpr int kWords = 64 / Format::kGroup;
  const F d_x = all_floats(x.d);
  if constexpr (kOffsetBehind<Format>)
    sum = sub(sum, left<log2(Format::kOffset)>(
                       weighted_sums<kWords, true>(h.scales, pairs_of<Format>(x))));
  acc = fma(to_float(sum), mul(h.d, d_x), acc);
  if constexpr (Format::kMinimum) {
    const V m = weighted_sums<kWords, false>(h.minimums, pairs_of<Format>(x));
    acc = fnma(to_float(m), mul(h.m, d_x), acc);
  }
  return acc;
}

}  // namespace etch::ETCH_ISA
