// How the language's arguments become a node's: which attribute holds which of the numbers and
// words that a circuit writes between an operation's parentheses. build_graph() reads it from left
// to right, infer() back again.
#pragma once

#include <span>
#include <string_view>

#include "ops/op.h"

namespace etch {

// In the order of the language. Empty for operations whose arguments are all wires, states and
// rotaries; numbers beside wires of arithmetic are `left` and `right` instead.
std::span<const std::string_view> number_names(Op op);

inline bool is_norm(Op op) { return op == Op::rmsnorm || op == Op::layernorm; }

}  // namespace etch
