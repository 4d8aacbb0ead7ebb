// What happens to products before they are stored. Each step rounds once, like the separate
// operation.
#pragma once

#include "kernels/math.h"
#include "kernels/ops/rows.h"

namespace etch::ETCH_ISA {

// Rows row .. row + n - 1, n <= 16, of column c: y = activation(gate + gate_bias) * (product +
// bias), or without gate (null) y = activation(product + bias) + residual. product and gate have 16
// entries, whatever n is.
static inline void store_products(const etch_matmul& a, int64_t c, int64_t row, int n,
                                  const float* product, const float* gate) {
  using W = floats;
  typename W::f v = W::load(product);
  if (a.bias != nullptr) v = W::add(v, W::load_first(a.bias + row, n));
  if (gate == nullptr) {
    if (a.activation != ETCH_ACT_NONE) v = activate<W>(a.activation, v);
  } else {
    typename W::f g = W::load(gate);
    if (a.gate_bias != nullptr) g = W::add(g, W::load_first(a.gate_bias + row, n));
    v = W::mul(activate<W>(a.activation, g), v);
  }
  if (a.residual != nullptr) {
    const auto* const r = reinterpret_cast<const float*>(a.residual + c * a.residual_stride);
    v = W::add(v, W::load_first(r + row, n));
  }
  auto* const y = reinterpret_cast<float*>(a.y + c * a.y_stride);
  W::store_first(y + row, v, n);
}

}  // namespace etch::ETCH_ISA
