// Names that a circuit knows: keys it mentions, patterns of names it ignores.
#pragma once

#include <functional>

#include <string>
#include <string_view>
#include <vector>

#include "circuit/ast.h"

namespace etch {

// As in a shell: * any run, ? any one.
bool matches(std::string_view pattern, std::string_view text);

// Every key that an expression of the circuit asks for, without the architecture; of
// keys("rope.scaling") the whole family.
std::vector<std::string> keys_of(const Circuit& circuit);

// Calls f for every expression of the circuit but those of imports, parents before children.
void each_expr(const Circuit& circuit, const std::function<void(const Expr&)>& f);

}  // namespace etch
