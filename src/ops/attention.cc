// attention, append, select: what is seen, remembered, and picked.
#include <fmt/core.h>

#include "ops/shape_rule.h"

namespace etch {
namespace {

bool is_state(const Operand& o) { return o.kind == Operand::Kind::state; }

// [n, d] against what a state holds. [d] counts as [1, d].
bool rows_fit(ShapeCheck& c, size_t argument, const Polynomial& n, const Polynomial& d,
              const Operand& state) {
  Shape s = c.shape(argument);
  if (s.size() == 1) s.insert(s.begin(), 1);
  const auto message = [&] {
    return fmt::format("{}: {} is {}, {} holds {}", info(c.op).spelled, c.called(argument),
                       print(c.shape(argument)), state.name.empty() ? "the state" : state.name,
                       print(Shape{n, d}));
  };
  if (s.size() != 2) {
    c.error(static_cast<int>(argument), message());
    return false;
  }
  return c.equal(static_cast<int>(argument), s[0], n, message) &&
         c.equal(static_cast<int>(argument), s[1], d, message);
}

// Keys, and values unless the state is latents, that go into a state.
bool entries_fit(ShapeCheck& c, size_t keys, size_t values, const Operand& state) {
  const StateType& s = state.state;
  if (!c.wire(keys)) return false;
  if (s.kind == StateType::Kind::cache) {
    if (values == 0) {
      c.error(-1, fmt::format("{}: a cache wants keys and values", info(c.op).spelled));
      return false;
    }
    return c.wire(values) && rows_fit(c, keys, s.n, s.d_k, state) &&
           rows_fit(c, values, s.n, s.d_v, state);
  }
  if (values != 0) {
    c.error(static_cast<int>(values),
            s.kind == StateType::Kind::latents
                ? "the value of latents(d, d_v) is the key's first part: give attention no value"
                : fmt::format("{}: {} holds no values", info(c.op).spelled, name(s.kind)));
    return false;
  }
  return rows_fit(c, keys, s.n, s.d_k, state);
}

bool attribute_shape(ShapeCheck& c, std::string_view attribute, const Shape& wanted) {
  const Operand* a = c.attribute(attribute);
  if (a == nullptr || a->kind == Operand::Kind::none) return true;
  return c.same_shape(-1, a->type.shape, wanted,
                      fmt::format("{}: {}", info(c.op).spelled, attribute));
}

}  // namespace

namespace shape_rules {

void attention(ShapeCheck& c) {
  const size_t n = c.arguments.size();
  if (!c.wire(0)) return;
  const Shape& q = c.shape(0);
  if (q.size() != 2) {
    c.error(0, fmt::format("attention takes queries [n_heads, d_head], {} is {}", c.called(0),
                           print(q)));
    return;
  }
  Polynomial d_v, d_k;
  if (is_state(c.arguments[n - 1])) {
    const Operand& state = c.arguments[n - 1];
    const StateType& s = state.state;
    if (s.kind != StateType::Kind::cache && s.kind != StateType::Kind::latents) {
      c.error(static_cast<int>(n - 1),
              fmt::format("attention reads a cache or latents, '{}' is made by {}", state.name,
                          name(s.kind)));
      return;
    }
    if (n > 2 && !entries_fit(c, 1, n == 4 ? 2 : 0, state)) return;
    d_k = s.d_k;
    d_v = s.d_v;
  } else {
    if (n != 3) {
      c.error(-1, "attention takes (q, k, v, cache), (q, k, latents), (q, cache) or (q, k, v)");
      return;
    }
    if (!c.wire(1) || !c.wire(2)) return;
    const Shape &k = c.shape(1), &v = c.shape(2);
    if (k.size() != 2 || v.size() != 2) {
      c.error(-1, fmt::format("attention takes keys and values [n, d], these are {} and {}",
                              print(k), print(v)));
      return;
    }
    if (!c.equal(2, k[0], v[0], [&] {
          return fmt::format("attention: {} heads of keys, {} of values", k[0].print(),
                             v[0].print());
        }))
      return;
    d_k = k[1];
    d_v = v[1];
  }
  if (!c.equal(0, q[1], d_k, [&] {
        return fmt::format("attention: {} has heads of {}, the keys of {}", c.called(0),
                           q[1].print(), d_k.print());
      }))
    return;
  const Operand* relative = c.attribute("relative");
  if (relative != nullptr && relative->kind != Operand::Kind::none) {
    const Shape& r = relative->type.shape;
    if (r.size() != 2) {
      c.error(-1, fmt::format("attention: relative is [buckets, n_heads], here {}", print(r)));
      return;
    }
    if (!c.equal(-1, r[1], q[0], [&] {
          return fmt::format("attention: relative has {} heads, the queries {}", r[1].print(),
                             q[0].print());
        }))
      return;
  }
  if (!attribute_shape(c, "sinks", {q[0]})) return;
  c.result({q[0], d_v});
}

void append(ShapeCheck& c) {
  const Operand& state = c.arguments[0];
  if (!is_state(state) || state.state.kind == StateType::Kind::last ||
      state.state.kind == StateType::Kind::matrix) {
    c.error(0, "append wants a cache, latents or an index here");
    return;
  }
  entries_fit(c, 1, c.arguments.size() == 3 ? 2 : 0, state);
}

void select(ShapeCheck& c) {
  if (!c.wire(0) || !c.wire(1) || !c.state(2, StateType::Kind::index)) return;
  const Shape& q = c.shape(0);
  const Operand& state = c.arguments[2];
  if (q.size() != 2) {
    c.error(0, fmt::format("select takes queries [m, d], {} is {}", c.called(0), print(q)));
    return;
  }
  if (!rows_fit(c, 1, state.state.n, state.state.d_k, state)) return;
  if (!c.equal(0, q[1], state.state.d_k, [&] {
        return fmt::format("select: {} has rows of {}, {} of {}", c.called(0), q[1].print(),
                           state.name, state.state.d_k.print());
      }))
    return;
  if (!attribute_shape(c, "weights", {q[0]})) return;
  c.result({}, Type::Kind::selection);
}

}  // namespace shape_rules
}  // namespace etch
