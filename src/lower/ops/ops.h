// What each operation becomes. One function per operation or family of operations; ops.cc is the
// table.
#pragma once

#include "lower/drafter.h"

namespace etch {

Status lower_elementwise(Drafter& d, const Node& node);
Status lower_norm(Drafter& d, const Node& node);  // sum softmax rmsnorm layernorm l2norm
Status lower_embed(Drafter& d, const Node& node);
Status lower_linear(Drafter& d, const Node& node);
Status lower_matmul(Drafter& d, const Node& node);
Status lower_rope(Drafter& d, const Node& node);
Status lower_route(Drafter& d, const Node& node);
Status lower_mix(Drafter& d, const Node& node);
Status lower_linear_experts(Drafter& d, const Node& node);
Status lower_expert_weights(Drafter& d, const Node& node);
Status lower_view(Drafter& d, const Node& node);
Status lower_concat(Drafter& d, const Node& node);
Status lower_stack(Drafter& d, const Node& node);
Status lower_repeat(Drafter& d, const Node& node);
Status lower_zeros(Drafter& d, const Node& node);
Status lower_attention(Drafter& d, const Node& node);
Status lower_append(Drafter& d, const Node& node);
Status lower_source(Drafter& d, const Node& node);  // inputs and weights lie where they lie
Status lower_constant(Drafter& d, const Node& node);
Status lower_outputs_only(Drafter& d, const Node& node);

}  // namespace etch
