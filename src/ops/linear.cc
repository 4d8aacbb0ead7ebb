// linear: [.., i] with W [o, i] gives [.., o]; with W [n, o, i], [n, i] gives [n, o].
#include <fmt/core.h>

#include "ops/shape_rule.h"

namespace etch {
namespace {

bool fits(ShapeCheck& c, const Polynomial& width) {
  return c.equal(1, c.shape(0).back(), width, [&] {
    return fmt::format("linear: {} takes rows of {}, {} has rows of {}", c.called(1), width.print(),
                       c.called(0), c.shape(0).back().print());
  });
}

}  // namespace

namespace shape_rules {

void linear(ShapeCheck& c) {
  if (!c.wire(0) || !c.rank_at_least(0, 1)) return;
  const Operand& w = c.arguments[1];
  if (!w.is_part() && !c.wire(1)) return;
  Shape out = c.shape(0);
  if (w.type.shape.size() == 2) {
    if (!fits(c, w.type.shape[1])) return;
    out.back() = w.type.shape[0];
    c.result(out);
  } else if (w.type.shape.size() == 3) {
    if (out.size() < 2) {
      c.error(1, fmt::format("linear: {} is a stack of {} matrices, {} is one row; choose one "
                             "matrix or give it {} rows",
                             c.called(1), w.type.shape[0].print(), c.called(0),
                             w.type.shape[0].print()));
      return;
    }
    const Polynomial& n = out[out.size() - 2];
    if (!c.equal(1, n, w.type.shape[0], [&] {
          return fmt::format("linear: {} is a stack of {} matrices, {} has {} rows", c.called(1),
                             w.type.shape[0].print(), c.called(0), n.print());
        }))
      return;
    if (!fits(c, w.type.shape[2])) return;
    out.back() = w.type.shape[1];
    c.result(out);
  } else {
    c.error(1,
            fmt::format("linear wants a matrix here, {} is {}", c.called(1), print(w.type.shape)));
  }
}

void embed(ShapeCheck& c) {
  const Operand &t = c.arguments[0], &ids = c.arguments[1];
  if (!t.is_part() && !c.wire(0)) return;
  if (t.type.shape.size() != 2) {
    c.error(0, fmt::format("embed wants a table of rows here, {} is {}", c.called(0),
                           print(t.type.shape)));
    return;
  }
  if (!ids.is_wire() ||
      (ids.type.kind != Type::Kind::ids && ids.type.kind != Type::Kind::positions)) {
    c.error(1, "embed wants ids here: tokens, positions, or a row of a table of integers");
    return;
  }
  Shape out = ids.type.shape;
  out.push_back(t.type.shape[1]);
  c.result(out, t.type.kind);
}

void matmul(ShapeCheck& c) {
  if (!c.wire(0) || !c.wire(1)) return;
  Shape a = c.shape(0);
  const Shape& b = c.shape(1);
  const bool row = a.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (a.size() != 2 || b.size() != 2) {
    c.error(-1, fmt::format("matmul takes [m, k] and [k, n], these are {} and {}",
                            print(c.shape(0)), print(b)));
    return;
  }
  if (!c.equal(-1, a[1], b[0], [&] {
        return fmt::format("matmul: {} has rows of {}, {} has {} rows", c.called(0), a[1].print(),
                           c.called(1), b[0].print());
      }))
    return;
  if (row)
    c.result({b[1]});
  else
    c.result({a[0], b[1]});
}

}  // namespace shape_rules
}  // namespace etch
