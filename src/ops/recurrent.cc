// What remembers the tokens before: conv1d, shift, linear_attention, compress; and pool, which sees
// a whole sequence.
#include <fmt/core.h>

#include "ops/shape_rule.h"

namespace etch {
namespace {

bool one_row(ShapeCheck& c, size_t argument) {
  if (!c.wire(argument)) return false;
  if (c.shape(argument).size() == 1) return true;
  c.error(static_cast<int>(argument),
          fmt::format("{} takes one row [d], {} is {}", info(c.op).spelled, c.called(argument),
                      print(c.shape(argument))));
  return false;
}

bool state_holds(ShapeCheck& c, size_t argument, const Polynomial& n, const Polynomial& d) {
  const StateType& s = c.arguments[argument].state;
  const auto message = [&] {
    return fmt::format("{}: last({}, {}) is wanted, {} is last({}, {})", info(c.op).spelled,
                       n.print(), d.print(), c.called(argument), s.n.print(), s.d_k.print());
  };
  return c.equal(static_cast<int>(argument), s.n, n, message) &&
         c.equal(static_cast<int>(argument), s.d_k, d, message);
}

}  // namespace

namespace shape_rules {

void conv1d(ShapeCheck& c) {
  if (!one_row(c, 0) || !c.wire(1) || !c.state(2, StateType::Kind::last)) return;
  const Polynomial& d = c.shape(0)[0];
  const Shape& w = c.shape(1);
  if (w.size() != 2) {
    c.error(1, fmt::format("conv1d takes weights [d, width], {} is {}", c.called(1), print(w)));
    return;
  }
  if (!c.equal(1, w[0], d, [&] {
        return fmt::format("conv1d: {} has {} channels, {} has {}", c.called(1), w[0].print(),
                           c.called(0), d.print());
      }))
    return;
  const Operand* dilation = c.attribute("dilation");
  const Polynomial m =
      dilation != nullptr && dilation->is_number() ? dilation->length : Polynomial(1);
  if (!state_holds(c, 2, (w[1] - 1) * m, d)) return;
  c.result(c.shape(0));
}

void shift(ShapeCheck& c) {
  if (!one_row(c, 0) || !c.state(1, StateType::Kind::last) || !state_holds(c, 1, 1, c.shape(0)[0]))
    return;
  c.result(c.shape(0));
}

void linear_attention(ShapeCheck& c) {
  for (size_t i = 0; i < 3; ++i) {
    if (!c.wire(i)) return;
    if (c.shape(i).size() != 2) {
      c.error(static_cast<int>(i), fmt::format("linear_attention takes [n, d], {} is {}",
                                               c.called(i), print(c.shape(i))));
      return;
    }
  }
  if (!c.state(3, StateType::Kind::matrix)) return;
  const Shape &q = c.shape(0), &k = c.shape(1), &v = c.shape(2);
  const StateType& s = c.arguments[3].state;
  const auto pair = [&](int argument, const Polynomial& a, const Polynomial& b,
                        std::string_view what) {
    return c.equal(argument, a, b, [&] {
      return fmt::format("linear_attention: {}: {} and {}", what, a.print(), b.print());
    });
  };
  if (!pair(1, q[0], k[0], "heads of q and k") || !pair(1, q[1], k[1], "entries of q and k") ||
      !pair(2, v[0], s.n, "heads of v and of the state") ||
      !pair(1, k[1], s.d_k, "entries of k and of the state") ||
      !pair(2, v[1], s.d_v, "entries of v and of the state"))
    return;
  const auto shaped = [&](std::string_view name, const Shape& wanted) {
    const Operand* a = c.attribute(name);
    return a == nullptr || a->kind == Operand::Kind::none ||
           c.same_shape(-1, a->type.shape, wanted, fmt::format("linear_attention: {}", name));
  };
  const Operand* decay = c.attribute("log_decay");
  const bool per_key = decay != nullptr && decay->type.shape.size() == 2;
  if (!shaped("log_decay", per_key ? Shape{s.n, s.d_k} : Shape{s.n}) || !shaped("beta", {s.n}) ||
      !shaped("remove", {s.n, s.d_k}) || !shaped("insert", {s.n, s.d_k}))
    return;
  if ((c.attribute("remove") == nullptr) != (c.attribute("insert") == nullptr)) {
    c.error(-1, "linear_attention: remove and insert go together");
    return;
  }
  c.result({v[0], v[1]});
}

// x and s of the tokens of an unfinished block are what the state remembers, side by side.
void compress(ShapeCheck& c) {
  if (!one_row(c, 0) || !c.state(2, StateType::Kind::last)) return;
  const Operand& s = c.arguments[1];
  if (!s.is_number() && (!one_row(c, 1) || !c.same_shape(1, c.shape(1), c.shape(0), "compress: s")))
    return;
  const Operand* overlap = c.attribute("overlap");
  Polynomial d = c.shape(0)[0];
  if (overlap != nullptr && overlap->truth && !c.divide(0, d, 2, d, "compress: half of x")) return;
  c.result({d});
  if (!c.results.empty()) c.results[0].row = Type::Row::block;
}

void pool(ShapeCheck& c) {
  if (!c.wire(0)) return;
  const Operand& kind = c.arguments[1];
  const bool later = kind.is_number() && !kind.known;  // a file says which
  const bool known =
      kind.kind == Operand::Kind::symbol &&
      (kind.symbol == Symbol::mean || kind.symbol == Symbol::first || kind.symbol == Symbol::last);
  if (!known && !later && kind.kind != Operand::Kind::none) {
    c.error(1, "pool wants none, mean, first or last here");
    return;
  }
  c.result(c.shape(0));
  if (!c.results.empty() && (known || later)) c.results[0].row = Type::Row::sequence;
}

}  // namespace shape_rules
}  // namespace etch
