#include <fmt/core.h>

#include "ops/shape_rule.h"

namespace etch::shape_rules {

void rope(ShapeCheck& c) {
  const Operand& r = c.arguments[1];
  if (!c.wire(0) || !c.rank_at_least(0, 1)) return;
  if (r.kind != Operand::Kind::rotary) {
    c.error(1, fmt::format("rope wants a rotary here, this is a {}", name(r.kind)));
    return;
  }
  const Polynomial &d = c.shape(0).back(), &dims = r.rotary_dims;
  if (d.is_constant() && dims.is_constant() && dims.constant() > d.constant()) {
    c.error(1, fmt::format("rope: {} turns {} entries, {} has rows of {}", c.called(1),
                           dims.print(), c.called(0), d.print()));
    return;
  }
  c.result(c.shape(0));
}

}  // namespace etch::shape_rules
