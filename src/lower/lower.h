// lower(): from a graph to the calls of kernels that compute it, with every byte of memory planned.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "lowered/lowered.h"

namespace etch {

// What kernels may be used and what they cost. Today one memory space and the CPU's kernels.
struct Target {
  std::span<const etch_kernel> kernels = all_kernels();
};

struct LowerOptions {
  Limits limits;
  std::set<std::string> without;  // passes to leave out, by name (any subset gives the same bits)
};

Result<Lowered> lower(const Graph& graph, const Target& target, const LowerOptions& options);

// The ordered list of lowering passes, for --without and for printing.
std::vector<std::string> lowering_passes();

}  // namespace etch
