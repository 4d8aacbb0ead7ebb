// What happens to products before they are stored. Each step rounds once, like the separate
// operation.
#pragma once

#include "kernels/ops/rows.h"

namespace etch::ETCH_ISA {

// Rows row .. row + n - 1 of column c: y = activation(gate + gate_bias) * (product + bias), or
// without gate y = activation(product + bias) + residual. gate is null without one.
static inline void store_products(const etch_matmul& a, int64_t c, int64_t row, int n,
                                  const float* product, const float* gate) {
  float* const y = reinterpret_cast<float*>(a.y + c * a.y_stride) + row;
  float v[32];
  for (int i = 0; i < n; ++i) v[i] = product[i];
  if (a.bias != nullptr)
    for (int i = 0; i < n; ++i) v[i] += a.bias[row + i];
  if (a.residual != nullptr) {
    const float* const r = reinterpret_cast<const float*>(a.residual + c * a.residual_stride) + row;
    for (int i = 0; i < n; ++i) v[i] += r[i];
  }
  if (gate != nullptr) {
    for (int i = 0; i < n; ++i) v[i] *= gate[i];
  }
  for (int i = 0; i < n; ++i) y[i] = v[i];
}

}  // namespace etch::ETCH_ISA
