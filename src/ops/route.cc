// route: scores of experts to the chosen ones; mix: a weighted sum over them.
#include <fmt/core.h>

#include "ops/shape_rule.h"

namespace etch::shape_rules {

void route(ShapeCheck& c) {
  if (!c.wire(0)) return;
  if (c.shape(0).size() != 1) {
    c.error(0, fmt::format("route takes one score per expert, {} is {}", c.called(0),
                           print(c.shape(0))));
    return;
  }
  const Polynomial& n = c.shape(0)[0];
  const Operand* top = c.attribute("top");
  if (top == nullptr || !top->is_number() || !top->is_integer) {
    c.error(-1, "route: top is a whole number");
    return;
  }
  const Polynomial& k = top->length;
  if (k.is_constant() && (k.constant() < 1 || (n.is_constant() && k.constant() > n.constant()))) {
    c.error(-1, fmt::format("route: {} of {} experts cannot be chosen", k.print(), n.print()));
    return;
  }
  const Operand* groups = c.attribute("groups");
  if (groups != nullptr && groups->is_number() && groups->is_integer &&
      groups->length.is_constant() && groups->length.constant() > 1 && n.is_constant()) {
    const int64_t g = groups->length.constant();
    const Operand* kept = c.attribute("top_groups");
    const int64_t t = kept != nullptr && kept->length.is_constant() ? kept->length.constant() : 0;
    if (n.constant() % g != 0 || t < 1 || t > g || t * (n.constant() / g) < k.constant()) {
      c.error(-1, fmt::format("route: {} experts in {} groups, {} groups kept, {} chosen",
                              n.constant(), g, t, k.print()));
      return;
    }
  }
  const Operand* bias = c.attribute("bias");
  if (bias != nullptr && bias->kind != Operand::Kind::none &&
      !c.same_shape(-1, bias->type.shape, {n}, "route: bias"))
    return;
  const Operand* chosen = c.attribute("chosen");
  if (chosen != nullptr && chosen->kind != Operand::Kind::none &&
      !c.same_shape(-1, chosen->type.shape, {k}, "route: chosen"))
    return;
  c.result({k}, Type::Kind::experts);
}

void mix(ShapeCheck& c) {
  if (!c.wire(0) || !c.rank_at_least(0, 1)) return;
  c.result(Shape(c.shape(0).begin() + 1, c.shape(0).end()));
}

void expert_weights(ShapeCheck& c) { c.result({c.shape(0)[0], 1}); }

// The walk proves linear with one matrix and puts the axis of slots before it.
void linear_experts(ShapeCheck& c) { linear(c); }

// Made by graphs alone.
void input(ShapeCheck&) {}
void weight(ShapeCheck&) {}
void constant(ShapeCheck&) {}
void outputs_only(ShapeCheck&) {}
void reshape(ShapeCheck&) {}
void permute(ShapeCheck&) {}
void view(ShapeCheck&) {}

}  // namespace etch::shape_rules
