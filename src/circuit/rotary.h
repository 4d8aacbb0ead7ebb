// The numbers of a rotary encoding: frequencies in double, rounded once (circuit-language.md
// section 8).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "circuit/binding.h"
#include "circuit/dims.h"

namespace etch {

struct RotaryFactors {  // values of the parts that a rotary names; empty if absent
  std::vector<float> all, short_context, long_context;
};

// n_ctx: the session's context.
Result<Rotary> make_rotary(const RotarySpec& spec, const Model& model, const RotaryFactors& factors,
                           int64_t n_ctx);

// Keys under a scaling family that are read (or known and not used): "rope.scaling.factor",
// "rope.scale_linear".
std::vector<std::string> scaling_keys(const std::string& family);

}  // namespace etch
