#include "lower/passes.h"

#include <chrono>

namespace etch {

// clang-format off
constexpr PassInfo kPasses[] = {
    {"fuse_embed_scale",   fuse_embed_scale,   false},
    {"fuse_bias",          fuse_bias,          false},
    {"group_linears",      group_linears,      false},
    {"fuse_activation",    fuse_activation,    false},
    {"fuse_residual",      fuse_residual,      false},
    {"fuse_rope_append",   fuse_rope_append,   false},
    {"fuse_norm_quantize", fuse_norm_quantize, true},
};
// clang-format on

std::span<const PassInfo> all_passes() { return kPasses; }

std::vector<std::string> lowering_passes() {
  std::vector<std::string> names;
  for (const PassInfo& p : kPasses) names.emplace_back(p.name);
  return names;
}

Status run_passes(Draft& draft, const Target& target, const LowerOptions& options,
                  bool after_kernels, std::vector<PassReport>& reports) {
  for (const PassInfo& pass : kPasses) {
    if (pass.after_kernels != after_kernels) continue;
    PassReport report = {std::string(pass.name), draft.prefill};
    report.left_out = options.without.contains(report.name);
    if (!report.left_out) {
      const auto start = std::chrono::steady_clock::now();
      report.changes = pass.run(draft, target);
      std::erase_if(draft.calls, [](const DraftCall& c) { return c.dead; });
      report.seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      ETCH_TRY(verify_draft(draft, pass.name));
    }
    reports.push_back(std::move(report));
  }
  return {};
}

}  // namespace etch
