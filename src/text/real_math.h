// Exponential and logarithm in double precision out of additions, multiplications and divisions
// alone, so that samples are the same on every machine (libm's last bits differ between systems).
// Errors are below 2 units in the last place.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace etch {

// e^x = 2^k e^r,  r = x - k ln 2 in [-0.35, 0.35],  e^r by its series up to r^13 / 13!
inline double exact_exp(double x) {
  if (x != x) return x;
  if (x > 709.78) return std::numeric_limits<double>::infinity();
  if (x < -745.0) return 0;
  const auto k = static_cast<int64_t>(x * 1.4426950408889634 + (x < 0 ? -0.5 : 0.5));
  const double kd = static_cast<double>(k);
  const double r =
      (x - kd * 6.93147180369123816490e-01) - kd * 1.90821492927058770002e-10;  // ln 2 in two parts
  double sum = 1.0 / 6227020800.0;
  constexpr double inverse_factorials[] = {1.0 / 479001600,
                                           1.0 / 39916800,
                                           1.0 / 3628800,
                                           1.0 / 362880,
                                           1.0 / 40320,
                                           1.0 / 5040,
                                           1.0 / 720,
                                           1.0 / 120,
                                           1.0 / 24,
                                           1.0 / 6,
                                           1.0 / 2,
                                           1.0,
                                           1.0};
  for (const double c : inverse_factorials) sum = sum * r + c;
  // 2^k in two steps: k down to -1074 reaches the subnormals.
  const int64_t half = k / 2;
  const auto power = [](int64_t e) {
    return std::bit_cast<double>(static_cast<uint64_t>(e + 1023) << 52);
  };
  return sum * power(half) * power(k - half);
}

// ln x = e ln 2 + 2 artanh((m - 1) / (m + 1)),  x = m 2^e,  m in [0.7, 1.42]
inline double exact_log(double x) {
  if (x != x || x < 0) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0) return -std::numeric_limits<double>::infinity();
  if (x == std::numeric_limits<double>::infinity()) return x;
  int64_t e = 0;
  if (x < 0x1p-1022) x *= 0x1p54, e = -54;
  uint64_t bits = std::bit_cast<uint64_t>(x);
  e += static_cast<int64_t>(bits >> 52) - 1023;
  bits = (bits & 0x000FFFFFFFFFFFFFu) | 0x3FF0000000000000u;
  double m = std::bit_cast<double>(bits);
  if (m > 1.4142135623730951) m *= 0.5, ++e;
  const double f = (m - 1) / (m + 1), f2 = f * f;
  double sum = 0;
  for (int n = 23; n >= 1; n -= 2) sum = sum * f2 + 1.0 / n;
  return static_cast<double>(e) * 1.90821492927058770002e-10 + 2 * f * sum +
         static_cast<double>(e) * 6.93147180369123816490e-01;
}

inline double exact_pow(double base, double exponent) {
  if (base <= 0) return exponent == 0 ? 1 : 0;  // bases here are probabilities and penalties
  return exact_exp(exponent * exact_log(base));
}

}  // namespace etch
