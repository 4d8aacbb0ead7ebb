// The same numbers in another shape, and wires put together: heads merge transpose split x[i]
// x[a..b] concat stack repeat zeros.
#include <fmt/core.h>

#include "ops/shape_rule.h"

namespace etch {
namespace {

// [d] counts as [1, d].
Shape rows_of(const Shape& s) { return s.size() == 1 ? Shape{1, s[0]} : s; }

bool keeps_kind(ShapeCheck& c) {
  const Operand& o = c.arguments[0];
  if (o.is_part() && o.type.shape.size() <= 3) return true;
  if (o.is_wire() && o.type.kind == Type::Kind::ids) return true;
  return c.wire(0);
}

}  // namespace

namespace shape_rules {

void heads(ShapeCheck& c) {
  Polynomial n, q;
  if (!c.wire(0) || !c.rank_at_least(0, 1) || !c.length(1, n)) return;
  Shape out = c.shape(0);
  if (!c.divide(1, out.back(), n, q, fmt::format("heads of {}", c.called(0)))) return;
  out.back() = n;
  out.push_back(q);
  c.result(out);
}

void merge(ShapeCheck& c) {
  if (!c.wire(0) || !c.rank_at_least(0, 2)) return;
  Shape out = c.shape(0);
  const Polynomial d = out.back();
  out.pop_back();
  out.back() = c.proof.normal(out.back() * d);
  c.result(out);
}

void transpose(ShapeCheck& c) {
  if (!c.wire(0)) return;
  if (c.shape(0).size() != 2)
    c.error(0, fmt::format("transpose takes [m, n], {} is {}", c.called(0), print(c.shape(0))));
  else
    c.result({c.shape(0)[1], c.shape(0)[0]});
}

void split(ShapeCheck& c) {
  if (!c.wire(0) || !c.rank_at_least(0, 1)) return;
  const Operand& sizes = c.arguments[1];
  if (sizes.kind != Operand::Kind::numbers) {
    c.error(1, "split wants a list of lengths here");
    return;
  }
  if (static_cast<int>(sizes.numbers.size()) != c.n_results) {
    c.error(1, fmt::format("split gives {} pieces, {} {} at the left", sizes.numbers.size(),
                           c.n_results, c.n_results == 1 ? "name is" : "names are"));
    return;
  }
  Polynomial total;
  for (const Polynomial& p : sizes.numbers) {
    if (p.is_constant() && p.constant() < 0) {
      c.error(1, fmt::format("split: a piece of {}", p.print()));
      return;
    }
    total = total + p;
  }
  if (!c.equal(1, total, c.shape(0).back(), [&] {
        return fmt::format("split: the pieces add up to {}, {} has rows of {}", total.print(),
                           c.called(0), c.shape(0).back().print());
      }))
    return;
  for (const Polynomial& p : sizes.numbers) {
    Shape out = c.shape(0);
    out.back() = p;
    c.result(out);
  }
}

void index(ShapeCheck& c) {
  Polynomial i;
  if (!keeps_kind(c) || !c.rank_at_least(0, 1) || !c.length(1, i)) return;
  const Polynomial& n = c.shape(0)[0];
  if (i.is_constant() && n.is_constant() && i.constant() >= n.constant()) {
    c.error(1,
            fmt::format("{} has {} rows, row {} is asked for", c.called(0), n.print(), i.print()));
    return;
  }
  c.result(Shape(c.shape(0).begin() + 1, c.shape(0).end()), c.arguments[0].type.kind);
}

void slice(ShapeCheck& c) {
  Polynomial first, last;
  if (!keeps_kind(c) || !c.rank_at_least(0, 1) || !c.length(1, first) || !c.length(2, last)) return;
  const Polynomial &n = c.shape(0)[0], size = last - first;
  const bool known = first.is_constant() && last.is_constant();
  if ((known && first.constant() > last.constant()) ||
      (last.is_constant() && n.is_constant() && last.constant() > n.constant())) {
    c.error(1, fmt::format("{} has {} rows, {}..{} are asked for", c.called(0), n.print(),
                           first.print(), last.print()));
    return;
  }
  Shape out = c.shape(0);
  out[0] = size;
  c.result(out, c.arguments[0].type.kind);
}

void concat(ShapeCheck& c) {
  Polynomial total;
  Shape lead;
  for (size_t i = 0; i < c.arguments.size(); ++i) {
    if (!c.wire(i) || !c.rank_at_least(i, 1)) return;
    const Shape here(c.shape(i).begin(), c.shape(i).end() - 1);
    Shape joined;
    if (!c.broadcast(static_cast<int>(i), lead, here, joined)) return;
    lead = joined;
    total = total + c.shape(i).back();
  }
  lead.push_back(total);
  c.result(lead);
}

void stack(ShapeCheck& c) {
  Shape out;
  for (size_t i = 0; i < c.arguments.size(); ++i) {
    if (!c.wire(i) || !c.rank_at_least(i, 1)) return;
    const Shape here = rows_of(c.shape(i));
    if (i == 0) {
      out = here;
      continue;
    }
    if (here.size() != out.size()) {
      c.error(static_cast<int>(i),
              fmt::format("stack: {} and {} have different ranks", print(out), print(here)));
      return;
    }
    for (size_t axis = 1; axis < out.size(); ++axis)
      if (!c.equal(static_cast<int>(i), out[axis], here[axis], [&] {
            return fmt::format("stack: rows of {} and of {}", out[axis].print(),
                               here[axis].print());
          }))
        return;
    out[0] = out[0] + here[0];
  }
  c.result(out);
}

void repeat(ShapeCheck& c) {
  Polynomial n;
  if (!c.wire(0) || !c.rank_at_least(0, 1) || !c.length(1, n)) return;
  const Operand& kind = c.arguments[2];
  if (kind.kind != Operand::Kind::symbol ||
      (kind.symbol != Symbol::tile && kind.symbol != Symbol::interleave)) {
    c.error(2, "repeat wants tile or interleave here");
    return;
  }
  Shape out = rows_of(c.shape(0));
  out[0] = c.proof.normal(out[0] * n);
  c.result(out);
}

void zeros(ShapeCheck& c) {
  Shape out(c.arguments.size());
  for (size_t i = 0; i < out.size(); ++i)
    if (!c.length(i, out[i])) return;
  c.result(out);
}

}  // namespace shape_rules
}  // namespace etch
