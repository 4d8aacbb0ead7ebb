#include "graph/ops/sums.h"

namespace etch::plain {
namespace {

// Where std::fma is one instruction the judge of a real model takes seconds, where it is a call it
// takes minutes. The bits are the same: an fma rounds once.
#if defined(__x86_64__)
#define ETCH_WITH_FMA __attribute__((target("avx2,fma")))
bool has_fma() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#else
#define ETCH_WITH_FMA
bool has_fma() { return true; }
#endif

template <class T>
[[gnu::always_inline]] inline T dot_of(const T* a, const T* b, int64_t n) {
  T p[kPartials] = {};
  int64_t k = 0;
  for (; k + kPartials <= n; k += kPartials)
    for (int i = 0; i < kPartials; ++i) p[i] = std::fma(a[k + i], b[k + i], p[i]);
  for (int i = 0; k < n; ++i, ++k) p[i] = std::fma(a[k], b[k], p[i]);
  return add_partials(p);
}

ETCH_WITH_FMA float dot_with_fma(const float* a, const float* b, int64_t n) {
  return dot_of(a, b, n);
}
ETCH_WITH_FMA double dot_with_fma(const double* a, const double* b, int64_t n) {
  return dot_of(a, b, n);
}

}  // namespace

float dot(const float* a, const float* b, int64_t n) {
  static const bool fast = has_fma();
  return fast ? dot_with_fma(a, b, n) : dot_of(a, b, n);
}
double dot(const double* a, const double* b, int64_t n) {
  static const bool fast = has_fma();
  return fast ? dot_with_fma(a, b, n) : dot_of(a, b, n);
}

}  // namespace etch::plain
