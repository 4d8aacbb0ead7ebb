// How far two pieces of numbers are apart.
#include <algorithm>
#include <bit>
#include <cmath>

#include "study/parity.h"

namespace etch {
namespace {

// Of one row: the squares of the difference and of a.
struct RowSums {
  double difference = 0, a = 0;
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void keep_neighbours(Difference& d, std::span<const float> a, std::span<const float> b) {
  constexpr int64_t kBefore = 3, kShown = 8;
  const int64_t first =
      std::clamp<int64_t>(d.worst_element - kBefore, 0, std::max<int64_t>(0, d.width - kShown));
  const auto from = static_cast<size_t>(d.worst_row * d.width + first);
  const auto n = static_cast<size_t>(std::min(kShown, d.width));
  d.a_near.assign(a.begin() + static_cast<std::ptrdiff_t>(from),
                  a.begin() + static_cast<std::ptrdiff_t>(from + n));
  d.b_near.assign(b.begin() + static_cast<std::ptrdiff_t>(from),
                  b.begin() + static_cast<std::ptrdiff_t>(from + n));
}

}  // namespace

Difference measure(std::span<const float> a, std::span<const float> b, int64_t width) {
  Difference d;
  d.width = std::max<int64_t>(1, width);
  d.rows = std::ssize(a) / d.width;
  double sum = 0, dot = 0, aa = 0, bb = 0, worst = -1;
  std::vector<RowSums> rows(static_cast<size_t>(d.rows));
  for (int64_t r = 0; r < d.rows; ++r) {
    for (int64_t e = 0; e < d.width; ++e) {
      const auto i = static_cast<size_t>(r * d.width + e);
      const double x = a[i], y = b[i];
      // Two that are not finite alike are no difference; one that is not is the largest there is.
      const bool same = std::bit_cast<uint32_t>(a[i]) == std::bit_cast<uint32_t>(b[i]);
      const double apart = same                                   ? 0
                           : std::isfinite(x) && std::isfinite(y) ? std::abs(x - y)
                                                                  : INFINITY;
      d.n_different += !same;
      sum += apart;
      rows[static_cast<size_t>(r)].difference += apart * apart;
      rows[static_cast<size_t>(r)].a += x * x;
      dot += x * y;
      aa += x * x;
      bb += y * y;
      if (apart > worst) {
        worst = apart;
        d.worst_row = r;
        d.worst_element = e;
      }
    }
  }
  if (d.rows == 0) return d;
  d.max_abs = worst;
  d.mean_abs = sum / static_cast<double>(a.size());
  d.cosine = aa == 0 && bb == 0 ? 1 : dot / std::sqrt(aa * bb);
  // In those of all rows: one row of small numbers is not held to its own size.
  const double scale = std::sqrt(aa / static_cast<double>(d.rows));
  std::vector<double> apart;
  for (const RowSums& r : rows) {
    const double root = std::sqrt(r.difference);
    apart.push_back(root == 0 ? 0 : scale == 0 ? INFINITY : root / scale);
  }
  d.typical = median(std::move(apart));
  const auto at = static_cast<size_t>(d.worst_row * d.width + d.worst_element);
  d.a = a[at];
  d.b = b[at];
  keep_neighbours(d, a, b);
  return d;
}

}  // namespace etch
