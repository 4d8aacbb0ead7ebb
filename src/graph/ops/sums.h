// Sums in the order of the arithmetic: element k goes to partial k mod 16, then the pairwise tree
// (arithmetic.md section 3).
#pragma once

#include <cmath>
#include <cstdint>

namespace etch::plain {

constexpr int kPartials = 16;

template <class T>
T add_partials(T (&p)[kPartials]) {
  for (int half = kPartials / 2; half >= 1; half /= 2)
    for (int i = 0; i < half; ++i) p[i] += p[i + half];
  return p[0] + T(0);
}

// sum of a[k] * b[k] by fma
float dot(const float* a, const float* b, int64_t n);
double dot(const double* a, const double* b, int64_t n);

// sum of a[k] * b[k * stride]: b is a column
template <class T>
T dot_column(const T* a, const T* b, int64_t n, int64_t stride) {
  T p[kPartials] = {};
  for (int64_t k = 0; k < n; ++k)
    p[k % kPartials] = std::fma(a[k], b[k * stride], p[k % kPartials]);
  return add_partials(p);
}

template <class T>
T total(const T* x, int64_t n) {
  T p[kPartials] = {};
  for (int64_t k = 0; k < n; ++k) p[k % kPartials] += x[k];
  return add_partials(p);
}

// libm in double, rounded once.
template <class T>
T exponential(T x) {
  return static_cast<T>(std::exp(static_cast<double>(x)));
}

}  // namespace etch::plain
