#include "model/shape.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace etch {

std::string print_shape(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

bool same_shape(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  const auto squeezed = [](const std::vector<int64_t>& s) {
    std::vector<int64_t> out;
    std::copy_if(s.begin(), s.end(), std::back_inserter(out), [](int64_t n) { return n != 1; });
    return out;
  };
  return squeezed(a) == squeezed(b);
}

bool product(const std::vector<int64_t>& shape, int64_t& out) {
  out = 1;
  for (const int64_t n : shape)
    if (n < 0 || __builtin_mul_overflow(out, n, &out)) return false;
  return true;
}

}  // namespace etch
