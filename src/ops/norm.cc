// rmsnorm, layernorm, l2norm, softmax, sum: over the last axis.
#include <fmt/core.h>

#include "ops/shape_rule.h"

namespace etch {
namespace {

// (x, eps) or (x, w, eps), w having the shape of the last axes of x.
void norm(ShapeCheck& c) {
  const size_t last = c.arguments.size() - 1;
  if (!c.wire(0) || !c.rank_at_least(0, 1)) return;
  if (!c.arguments[last].is_number()) {
    c.error(static_cast<int>(last),
            fmt::format("{} wants epsilon here, a number", info(c.op).spelled));
    return;
  }
  if (last == 2) {
    if (!c.wire(1)) return;
    const Shape &x = c.shape(0), &w = c.shape(1);
    if (w.size() > x.size()) {
      c.error(1, fmt::format("{}: {} is {}, {} is {}", info(c.op).spelled, c.called(1), print(w),
                             c.called(0), print(x)));
      return;
    }
    for (size_t i = 0; i < w.size(); ++i) {
      const Polynomial &a = w[w.size() - 1 - i], &b = x[x.size() - 1 - i];
      if (!c.equal(1, a, b, [&] {
            return fmt::format("{}: {} has {} weights, {} has {} entries", info(c.op).spelled,
                               c.called(1), a.print(), c.called(0), b.print());
          }))
        return;
    }
  }
  c.result(c.shape(0));
}

}  // namespace

namespace shape_rules {

void rmsnorm(ShapeCheck& c) { norm(c); }
void layernorm(ShapeCheck& c) { norm(c); }
void l2norm(ShapeCheck& c) { norm(c); }

void softmax(ShapeCheck& c) {
  if (c.wire(0) && c.rank_at_least(0, 1)) c.result(c.shape(0));
}

void sum(ShapeCheck& c) {
  if (!c.wire(0) || !c.rank_at_least(0, 1)) return;
  Shape out = c.shape(0);
  out.back() = 1;
  c.result(out);
}

}  // namespace shape_rules
}  // namespace etch
