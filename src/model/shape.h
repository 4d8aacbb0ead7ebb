// Shapes of tensors, of whatever stage: the lengths of their axes, outermost first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace etch {

std::string print_shape(const std::vector<int64_t>& shape);  // "[4, 16]"; "[]" for a scalar
// Axes of length 1 do not count.
bool same_shape(const std::vector<int64_t>& a, const std::vector<int64_t>& b);
// Lengths multiplied; false if one is negative or the product does not fit.
bool product(const std::vector<int64_t>& shape, int64_t& out);

}  // namespace etch
