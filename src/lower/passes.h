// The rewrites of a draft, in order. Each can be left out by name; any subset gives the same bits,
// because a fused kernel rounds where the separate ones would.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lower/draft.h"

namespace etch {

// Each returns how many calls it changed.
using Pass = int64_t (*)(Draft& draft, const Target& target);

int64_t fuse_embed_scale(Draft& draft, const Target& target);
int64_t fuse_bias(Draft& draft, const Target& target);
int64_t group_linears(Draft& draft, const Target& target);
int64_t fuse_activation(Draft& draft, const Target& target);
int64_t fuse_residual(Draft& draft, const Target& target);
int64_t fuse_rope_append(Draft& draft, const Target& target);
int64_t fuse_norm_quantize(Draft& draft, const Target& target);

struct PassInfo {
  std::string_view name;
  Pass run;
  bool after_kernels;  // once kernels are chosen and conversions inserted
};
std::span<const PassInfo> all_passes();

// Runs those of one stage but the left-out ones, times and verifies each.
Status run_passes(Draft& draft, const Target& target, const LowerOptions& options,
                  bool after_kernels, std::vector<PassReport>& reports);

}  // namespace etch
