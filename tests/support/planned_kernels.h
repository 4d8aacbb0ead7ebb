// The kernels of the registry, and stand-ins for those that a plan can use and a registry need not
// have: enough to plan with, not to run.
#pragma once

#include <algorithm>
#include <vector>

#include "lower/lower.h"

namespace etch {

inline Target planned_kernels() {
  static const std::vector<etch_kernel> kernels = [] {
    std::vector<etch_kernel> all(all_kernels().begin(), all_kernels().end());
    const auto stand_in = [&](etch_kernel k) {
      const bool known = std::any_of(all.begin(), all.end(), [&](const etch_kernel& other) {
        return other.args == k.args && other.output == k.output && other.weight == k.weight;
      });
      if (!known) all.push_back(k);
    };
    constexpr Representation kQuantised[] = {Representation::q8_32, Representation::q8_256,
                                             Representation::q8_32_packed,
                                             Representation::q8_256_packed};
    constexpr std::string_view kNames[] = {"rmsnorm_q8_32", "rmsnorm_q8_256",
                                           "rmsnorm_q8_32_packed", "rmsnorm_q8_256_packed"};
    for (size_t i = 0; i < std::size(kQuantised); ++i)
      stand_in({.name = kNames[i], .args = ArgsKind::norm, .output = kQuantised[i]});
    stand_in({.name = "expert_order", .args = ArgsKind::expert_order});
    stand_in({.name = "expert_matmul_q4_1",
              .args = ArgsKind::expert_matmul,
              .weight = DType::q4_1,
              .input = Representation::q8_32});
    return all;
  }();
  return {kernels};
}

}  // namespace etch
