// pool: one row for a whole sequence, which stands in the step from its start to its end.
#include <algorithm>

#include "graph/ops/operations.h"

namespace etch::plain {

template <class T>
Status pool(Frame<T>& f) {
  const Wire<T>& x = f.in(0);
  Wire<T>& y = f.out();
  const Symbol kind = f.node->symbol("kind", Symbol::none);
  if (kind == Symbol::none) {
    y.real = x.real;
    return {};
  }
  int64_t first = 0;
  for (int64_t i = 0; i < y.rows; ++i) {
    const int64_t last = f.step.sequences[static_cast<size_t>(i)].token;
    if (kind == Symbol::mean) {
      for (int64_t r = first; r <= last; ++r)
        for (int64_t c = 0; c < y.width; ++c) y.row(i)[c] += x.row(r)[c];
      for (int64_t c = 0; c < y.width; ++c) y.row(i)[c] /= static_cast<T>(last - first + 1);
    } else {
      std::copy_n(x.row(kind == Symbol::first ? first : last), y.width, y.row(i));
    }
    first = last + 1;
  }
  return {};
}

ETCH_BOTH_PRECISIONS(pool);

}  // namespace etch::plain
