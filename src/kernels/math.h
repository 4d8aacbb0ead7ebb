// exp, ln, erf, tanh, sigmoid, sin, cos over float words, and the activations made of them: one
// text for every instruction set, so they give the same bits. Nothing here is emitted as a
// function: all is inlined.
//
// The polynomials are fitted for these ranges (weighted minimax, coefficients rounded to float32
// one after another); math_test.cc measures every function against double precision.
//
//   exp       x = n ln 2 + r, |r| <= 0.3575; e^r - 1 = r + r^2 P(r), within 1.7e-8 of itself
//   ln        x = 2^e m, m in [sqrt 1/2, sqrt 2), f = m - 1; ln m = f - f^2/2 + f^3 P(f), 6e-9
//   erf       |x| < 0.9375: x + x P(x^2); else 1 - exp(-t (1 + Q(t))), t = min(|x|, 4)
//   sin, cos  x = n pi/2 + r: three parts of pi/2 by fma, the first one exact below |x| = 2^24
#pragma once

#include <cstdint>

#include "etch/model_abi.h"

#define ETCH_INLINE static inline __attribute__((always_inline))

namespace etch {

// A polynomial by Horner's rule, highest power first.
template <class W>
ETCH_INLINE typename W::f polynomial(typename W::f, typename W::f sum) {
  return sum;
}
template <class W, class... Rest>
ETCH_INLINE typename W::f polynomial(typename W::f x, typename W::f sum, float next, Rest... rest) {
  return polynomial<W>(x, W::fma(sum, x, W::set(next)), rest...);
}

inline constexpr float kLog2E = 0x1.715476p+0f;
inline constexpr float kLn2High = 0x1.62e43p-1f, kLn2Low = -0x1.05c61p-29f;
// Added to a small float it leaves the float rounded to a whole number in the low bits.
inline constexpr float kRounder = 0x1.8p23f;

// e^r - 1 on |r| <= 0.3575, with full relative precision.
template <class W>
ETCH_INLINE typename W::f exp_minus_1_near_0(typename W::f r) {
  const auto p = polynomial<W>(r, W::set(0x1.6bb25ep-10f), 0x1.123862p-7f, 0x1.5556fp-5f,
                               0x1.55549cp-3f, 0x1.fffffep-2f);
  return W::fma(p, W::mul(r, r), r);
}

// exp of x <= 89 (or NaN): enough for softmaxes, where x <= 0. exp(0) = 1 exactly, +0 below -87.
template <class W>
ETCH_INLINE typename W::f exp_up_to_89(typename W::f x) {
  // n, not below -125: then 2^(n-1) is a normal number, and so is 2^127 of n = 128.
  const auto rounded = W::max(W::set(kRounder - 125), W::fma(x, W::set(kLog2E), W::set(kRounder)));
  const auto n = W::sub(rounded, W::set(kRounder));
  const auto r = W::fnma(n, W::set(kLn2Low), W::fnma(n, W::set(kLn2High), x));
  const auto half =
      W::as_float(W::template shift_left<23>(W::add_int(W::as_int(rounded), W::set_int(126))));
  const auto result = W::fma(exp_minus_1_near_0<W>(r), half, half);
  return W::select(W::less(x, W::set(-87.0f)), W::set(0.0f), W::add(result, result));
}
// float32 ends before 89: the result is infinity there.
template <class W>
ETCH_INLINE typename W::f exp(typename W::f x) {
  return exp_up_to_89<W>(W::min(W::set(89.0f), x));
}

template <class W>
ETCH_INLINE typename W::f sigmoid(typename W::f x) {
  return W::div(W::set(1.0f), W::add(W::set(1.0f), exp<W>(W::neg(x))));
}

// t / (t + 2) with t = e^2|x| - 1, which keeps its precision near 0.
template <class W>
ETCH_INLINE typename W::f tanh(typename W::f x) {
  const auto magnitude = W::abs(x);
  const auto twice = W::min(W::set(40.0f), W::add(magnitude, magnitude));
  const auto rounded = W::fma(twice, W::set(kLog2E), W::set(kRounder));
  const auto n = W::sub(rounded, W::set(kRounder));
  const auto r = W::fnma(n, W::set(kLn2Low), W::fnma(n, W::set(kLn2High), twice));
  const auto scale =
      W::as_float(W::template shift_left<23>(W::add_int(W::as_int(rounded), W::set_int(127))));
  const auto t = W::fma(exp_minus_1_near_0<W>(r), scale, W::sub(scale, W::set(1.0f)));
  const auto result = W::div(t, W::add(t, W::set(2.0f)));
  return W::as_float(W::or_int(W::as_int(result), W::and_int(W::as_int(x), W::set_int(INT32_MIN))));
}

// -infinity of 0, NaN below it. Subnormals count as what they are.
template <class W>
ETCH_INLINE typename W::f ln(typename W::f x) {
  const auto tiny = W::less(x, W::set(0x1p-126f));
  const auto bits = W::as_int(W::select(tiny, W::mul(x, W::set(0x1p23f)), x));
  const auto from_root = W::sub_int(bits, W::set_int(0x3f3504f3));  // sqrt 1/2
  const auto mantissa =
      W::add_int(W::and_int(from_root, W::set_int(0x7fffff)), W::set_int(0x3f3504f3));
  const auto e = W::sub(W::to_float(W::template shift_right<23>(from_root)),
                        W::select(tiny, W::set(23.0f), W::set(0.0f)));
  const auto f = W::sub(W::as_float(mantissa), W::set(1.0f));
  const auto p =
      polynomial<W>(f, W::set(-0x1.38cf2p-4f), 0x1.05602ep-3f, -0x1.0d81f2p-3f, 0x1.22d8f8p-3f,
                    -0x1.54728cp-3f, 0x1.99a01ep-3f, -0x1.000226p-2f, 0x1.555554p-2f, -0.5f);
  const auto low = W::fma(p, W::mul(f, f), W::mul(e, W::set(kLn2Low)));
  const auto result = W::add(W::fma(e, W::set(kLn2High), f), low);
  const auto infinity = W::set(__builtin_inff());
  const auto from_zero =
      W::select(W::equal(x, W::set(0.0f)), W::neg(infinity), W::set(__builtin_nanf("")));
  // Positive and finite; infinity and NaN as they are; the rest is 0 or negative.
  const auto not_finite = W::select(W::less_equal(x, W::set(0.0f)), from_zero, x);
  return W::select(W::both(W::less(W::set(0.0f), x), W::less(x, infinity)), result, not_finite);
}

// ln(1 + u) of u >= 0: what rounding 1 + u lost comes back as lost / (1 + u).
template <class W>
ETCH_INLINE typename W::f ln_1_plus(typename W::f u) {
  const auto sum = W::add(W::set(1.0f), u);
  const auto lost = W::sub(u, W::sub(sum, W::set(1.0f)));
  return W::add(ln<W>(sum), W::div(lost, sum));
}

// ln(1 + e^x), x itself above 20.
template <class W>
ETCH_INLINE typename W::f softplus(typename W::f x) {
  return W::select(W::less(W::set(20.0f), x), x, ln_1_plus<W>(exp<W>(x)));
}

template <class W>
ETCH_INLINE typename W::f erf(typename W::f x) {
  const auto magnitude = W::abs(x);
  const auto near =
      polynomial<W>(W::mul(x, x), W::set(0x1.4e7c36p-14f), -0x1.a5c608p-11f, 0x1.54433p-8f,
                    -0x1.b80088p-6f, 0x1.ce2d6p-4f, -0x1.812740p-2f, 0x1.06eba8p-3f);
  const auto t = W::min(W::set(4.0f), magnitude);
  const auto q = polynomial<W>(t, W::set(0x1.829c08p-17f), -0x1.5577eap-12f, 0x1.dee7cap-9f,
                               -0x1.85b2fep-6f, 0x1.b34102p-4f, 0x1.453088p-1f, 0x1.077acap-3f);
  const auto far = W::sub(W::set(1.0f), exp<W>(W::neg(W::fma(t, q, t))));
  const auto signed_far =
      W::or_int(W::as_int(far), W::and_int(W::as_int(x), W::set_int(INT32_MIN)));
  return W::select(W::less(magnitude, W::set(0.9375f)), W::fma(x, near, x),
                   W::as_float(signed_far));
}

// Beyond 2^24 the angle itself is coarser than a turn; the results stay within -1 .. 1.
template <class W>
ETCH_INLINE void sin_cos(typename W::f x, typename W::f& sine, typename W::f& cosine) {
  const auto per_quarter = W::set(0x1.45f306p-1f);  // 2/pi
  const auto without = [](typename W::f from, typename W::i quarters) {
    const auto count = W::to_float(quarters);
    const auto r =
        W::fnma(count, W::set(-0x1.777a5cp-25f), W::fnma(count, W::set(0x1.921fb6p+0f), from));
    return W::fnma(count, W::set(-0x1.ee59dap-50f), r);
  };
  // Far out the product is off by more than a half: what it left over counts once more.
  const auto first = W::to_int(W::mul(x, per_quarter));
  const auto n = W::add_int(first, W::to_int(W::mul(without(x, first), per_quarter)));
  auto r = without(x, n);
  r = W::min(W::set(1.0f), W::max(W::set(-1.0f), r));
  const auto square = W::mul(r, r);
  const auto s = polynomial<W>(square, W::set(0x1.7ccf16p-19f), -0x1.a05ba8p-13f, 0x1.111176p-7f,
                               -0x1.555556p-3f);
  const auto c = polynomial<W>(square, W::set(0x1.99e0e4p-16f), -0x1.6c0c1ap-10f, 0x1.55554ap-5f);
  const auto sine_r = W::fma(s, W::mul(square, r), r);
  const auto cosine_r =
      W::fma(c, W::mul(square, square), W::fma(square, W::set(-0.5f), W::set(1.0f)));
  // Quadrants: sin -> cos -> -sin -> -cos.
  const auto swap = W::odd(n);
  const auto sign_of = [](typename W::i quadrant) {
    return W::and_int(W::template shift_left<30>(quadrant), W::set_int(INT32_MIN));
  };
  const auto flipped = [&](typename W::f value, typename W::i quadrant) {
    return W::as_float(W::xor_int(W::as_int(value), sign_of(quadrant)));
  };
  sine = flipped(W::select(swap, cosine_r, sine_r), n);
  cosine = flipped(W::select(swap, sine_r, cosine_r), W::add_int(n, W::set_int(1)));
}

// x / (1 + e^-x), as x times sigmoid.
template <class W>
ETCH_INLINE typename W::f silu(typename W::f x) {
  return W::mul(x, sigmoid<W>(x));
}

template <class W>
ETCH_INLINE typename W::f gelu(typename W::f x) {
  const auto half = W::mul(W::set(0.5f), x);
  return W::mul(half, W::add(W::set(1.0f), erf<W>(W::mul(x, W::set(0x1.6a09e6p-1f)))));  // 1/sqrt 2
}

// (1 + tanh u) / 2 = sigmoid(2u), which does not cancel for negative x. 2u = x (2c + 2c 0.044715
// x^2), c = sqrt(2/pi).
template <class W>
ETCH_INLINE typename W::f gelu_tanh(typename W::f x) {
  const auto slope = W::fma(W::mul(x, x), W::set(0x1.2444f2p-4f), W::set(0x1.988454p+0f));
  return W::mul(x, sigmoid<W>(W::mul(x, slope)));
}

template <class W>
ETCH_INLINE typename W::f relu(typename W::f x) {
  return W::max(W::set(0.0f), x);  // a NaN passes
}

// enum etch_activation.
template <class W>
ETCH_INLINE typename W::f activate(int32_t activation, typename W::f x) {
  switch (activation) {
    case ETCH_ACT_SILU:
      return silu<W>(x);
    case ETCH_ACT_GELU:
      return gelu<W>(x);
    case ETCH_ACT_GELU_TANH:
      return gelu_tanh<W>(x);
    case ETCH_ACT_RELU:
      return relu<W>(x);
    default:
      return x;
  }
}

// One number, in all lanes of a word.
template <class W>
ETCH_INLINE float exp_of(float x) {
  return W::first(exp<W>(W::set(x)));
}

}  // namespace etch
