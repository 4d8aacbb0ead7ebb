// Why each product of a node has the kernel it has: `etch explain MODEL n17`.
#pragma once

#include <string>

#include "lowered/lowered.h"

namespace etch {

// The candidates of a node in both lists, the chosen one first; "" where there was no choice.
std::string explain(const Lowered& lowered, int32_t node);

}  // namespace etch
