// Elementwise operations over up to four axes. An item is up to kElementwiseChunk neighbours along
// the innermost axis, so that one long row of decode is work for several threads. y may be a or b,
// element for element.
#pragma once

#include "kernels/chunks.h"
#include "kernels/ops/words.h"

namespace etch::ETCH_ISA {

// What stands at a place of an operand: contiguous floats, one float again and again, or floats
// `stride` apart.
ETCH_INLINE Word fetch(const uint8_t* p, int64_t stride, int64_t n) {
  if (stride == 4) return load_some(reinterpret_cast<const float*>(p), n);
  if (stride == 0) return W::set(*reinterpret_cast<const float*>(p));
  float lanes[kFloats] = {};
  for (int64_t k = 0; k < n; ++k) __builtin_memcpy(lanes + k, p + k * stride, 4);
  return W::load(lanes);
}
ETCH_INLINE void put(uint8_t* p, int64_t stride, Word value, int64_t n) {
  if (stride == 4) {
    store_some(reinterpret_cast<float*>(p), value, n);
    return;
  }
  float lanes[kFloats];
  W::store(lanes, value);
  for (int64_t k = 0; k < n; ++k) __builtin_memcpy(p + k * stride, lanes + k, 4);
}

// a - b floor(a / b), exact for whole numbers: the fma takes off b exactly, and where the quotient
// was rounded over a whole number the remainder is one b out.
ETCH_INLINE Word modulo(Word a, Word b) {
  const Word zero = W::set(0.0f);
  const Word r = W::fnma(W::floor(W::div(a, b)), b, a);
  const auto positive = W::less(zero, b);
  const Word up = W::select(W::both(positive, W::less(r, zero)), W::add(r, b), r);
  return W::select(W::both(positive, W::less_equal(b, up)), W::sub(up, b), up);
}

template <int op>
ETCH_INLINE Word elementwise_word(const etch_elementwise& e, Word a, Word b) {
  if constexpr (op == ETCH_EW_ADD) return W::add(a, b);
  if constexpr (op == ETCH_EW_SUB) return W::sub(a, b);
  if constexpr (op == ETCH_EW_MUL) return W::mul(a, b);
  if constexpr (op == ETCH_EW_DIV) return W::div(a, b);
  if constexpr (op == ETCH_EW_MOD) return modulo(a, b);
  if constexpr (op == ETCH_EW_SILU_MUL) return W::mul(silu<W>(a), b);
  if constexpr (op == ETCH_EW_GELU_MUL) return W::mul(gelu<W>(a), b);
  if constexpr (op == ETCH_EW_GELU_TANH_MUL) return W::mul(gelu_tanh<W>(a), b);
  if constexpr (op == ETCH_EW_RELU_MUL) return W::mul(relu<W>(a), b);
  if constexpr (op == ETCH_EW_SILU) return silu<W>(a);
  if constexpr (op == ETCH_EW_GELU) return gelu<W>(a);
  if constexpr (op == ETCH_EW_GELU_TANH) return gelu_tanh<W>(a);
  if constexpr (op == ETCH_EW_RELU) return relu<W>(a);
  if constexpr (op == ETCH_EW_SIGMOID) return sigmoid<W>(a);
  if constexpr (op == ETCH_EW_TANH) return tanh<W>(a);
  if constexpr (op == ETCH_EW_EXP) return exp<W>(a);
  if constexpr (op == ETCH_EW_LN) return ln<W>(a);
  if constexpr (op == ETCH_EW_SQRT) return W::sqrt(a);
  if constexpr (op == ETCH_EW_FLOOR) return W::floor(a);
  if constexpr (op == ETCH_EW_SQUARE) return W::mul(a, a);
  if constexpr (op == ETCH_EW_SOFTPLUS) return softplus<W>(a);
  if constexpr (op == ETCH_EW_CLAMP) return W::min(W::set(e.hi), W::max(W::set(e.lo), a));
  if constexpr (op == ETCH_EW_SOFTCAP)
    return W::mul(W::set(e.lo), tanh<W>(W::div(a, W::set(e.lo))));
  return a;
}

template <int op>
static void elementwise_items(const etch_elementwise& e, int64_t first, int64_t last) {
  const int64_t chunks = elementwise_chunks(e);
  int64_t chunk = first % chunks, rest = first / chunks;
  int64_t i2 = rest % e.sizes[2];
  rest /= e.sizes[2];
  int64_t i1 = rest % e.sizes[1];
  int64_t i0 = rest / e.sizes[1];
  const auto* const constant = reinterpret_cast<const uint8_t*>(&e.constant);
  const int64_t a_step = e.a == nullptr ? 0 : e.a_strides[3];
  const int64_t b_step = e.b == nullptr ? 0 : e.b_strides[3];
  const int64_t y_step = e.y_strides[3];
  const auto place = [&](const int64_t* strides) {
    return i0 * strides[0] + i1 * strides[1] + i2 * strides[2] +
           chunk * kElementwiseChunk * strides[3];
  };
  for (int64_t item = first; item < last; ++item) {
    const uint8_t* const a = e.a == nullptr ? constant : e.a + place(e.a_strides);
    const uint8_t* const b = e.b == nullptr ? constant : e.b + place(e.b_strides);
    uint8_t* const y = e.y + place(e.y_strides);
    const int64_t left = e.sizes[3] - chunk * kElementwiseChunk;
    const int64_t count = left < kElementwiseChunk ? left : kElementwiseChunk;
    const auto words = [&](int64_t a_gap, int64_t b_gap, int64_t y_gap)
        __attribute__((always_inline)) {
      for_words(
          count, [&](int64_t k, int64_t n) __attribute__((always_inline)) {
            const Word va = fetch(a + k * a_gap, a_gap, n), vb = fetch(b + k * b_gap, b_gap, n);
            put(y + k * y_gap, y_gap, elementwise_word<op>(e, va, vb), n);
          });
    };
    if (W::kWide && a_step == 4 && b_step == 4 && y_step == 4)
      words(4, 4, 4);  // nothing to ask in the loop
    else
      words(a_step, b_step, y_step);
    if (++chunk < chunks) continue;
    chunk = 0;
    if (++i2 < e.sizes[2]) continue;
    i2 = 0;
    if (++i1 < e.sizes[1]) continue;
    i1 = 0;
    ++i0;
  }
}

template <int op = 0>
ETCH_INLINE void elementwise_op(const etch_elementwise& e, int64_t first, int64_t last) {
  if constexpr (op < ETCH_EW_COUNT) {
    if (e.op == op)
      elementwise_items<op>(e, first, last);
    else
      elementwise_op<op + 1>(e, first, last);
  }
}

static inline void elementwise(const void* args, const etch_thread*, int64_t first, int64_t last) {
  elementwise_op(*static_cast<const etch_elementwise*>(args), first, last);
}

}  // namespace etch::ETCH_ISA
