// rope: pairs of entries are turned by position * frequency. The angle is a float even in float64:
// the language defines it so.
//
//   pairs:  (0 1) (2 3) (4 5) ...        halves:  (0 d/2) (1 d/2+1) ...        d: the turned
//   entries
#include <algorithm>
#include <cmath>

#include "graph/ops/operations.h"

namespace etch::plain {

template <class T>
Status rope(Frame<T>& f) {
  const Wire<T>& x = f.in(0);
  Wire<T>& y = f.out();
  const Rotary& rotary = f.graph.rotaries[static_cast<size_t>(f.node->rotary())];
  const int64_t d = f.type(0).shape.back(), n_pairs = rotary.dims / 2;
  const bool pairs = rotary.layout == Symbol::pairs;
  const T sign = f.node->truth("inverse") ? T(-1) : T(1);
  const std::vector<RowAt> rows = f.rows();
  for (int64_t r = 0; r < y.rows; ++r) {
    const float position = static_cast<float>(rows[static_cast<size_t>(r)].position);
    for (int64_t line = 0; line < x.width / d; ++line) {
      const T* in = x.row(r) + line * d;
      T* out = y.row(r) + line * d;
      std::copy_n(in, d, out);
      for (int64_t i = 0; i < n_pairs; ++i) {
        const float angle = position * rotary.frequencies[static_cast<size_t>(i)];
        const T c = static_cast<T>(std::cos(static_cast<double>(angle))) * T(rotary.magnitude);
        const T s =
            static_cast<T>(std::sin(static_cast<double>(angle))) * T(rotary.magnitude) * sign;
        const int64_t at = pairs ? 2 * i : i, other = pairs ? at + 1 : i + n_pairs;
        out[at] = std::fma(in[at], c, -(in[other] * s));
        out[other] = std::fma(in[at], s, in[other] * c);
      }
    }
  }
  return {};
}

ETCH_BOTH_PRECISIONS(rope);

}  // namespace etch::plain
