#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "dtypes/dtype.h"
#include "lower/kernel_choice.h"

namespace etch {
namespace {

bool has_weight(ArgsKind kind) {
  return kind == ArgsKind::matmul || kind == ArgsKind::expert_matmul || kind == ArgsKind::embed;
}

bool is_packed(Representation r) {
  return r == Representation::q8_32_packed || r == Representation::q8_256_packed;
}

// "rmsnorm_q8_32" does rmsnorm, "attend_merge_f16" is not "attend".
bool does(const etch_kernel& kernel, const DraftCall& call) {
  if (call.kind == ArgsKind::norm)
    return kernel.name == call.op || kernel.name.starts_with(call.op + "_") ||
           (call.op == "rmsnorm" && kernel.name.starts_with("norm_quantize"));
  if (call.kind == ArgsKind::attend)
    return kernel.name.starts_with("attend_merge") == (call.op == "attend_merge");
  return true;
}

// Cycles of one thread for 256 weights and n columns (kernel findings, sections 3 and 4): registers
// kernels unpack the weights again for every 8 columns and need about 0.65 of the first column's
// time for that; panels unpack once, 0.12 cycles a weight, then run at 0.72 dots a cycle.
double cycles_per_256(const etch_kernel& kernel, int64_t n) {
  const double first = kernel.cycles_per_256 > 0 ? kernel.cycles_per_256 : 30;
  if (is_packed(kernel.input)) return 256 * 0.12 + static_cast<double>(n) * 256 / 64 / 0.72;
  if (kernel.input == Representation::f32) return static_cast<double>(n) * first;
  constexpr int64_t kAtOnce = 8;
  double cycles = 0;
  for (int64_t left = n; left > 0; left -= kAtOnce)
    cycles += first * (0.75 + 0.25 * static_cast<double>(std::min(left, kAtOnce)));
  return cycles;
}

std::string why_not(const etch_kernel& kernel, int64_t n_in) {
  if (kernel.row_multiple > 1 && n_in % kernel.row_multiple != 0)
    return fmt::format("rows of {} are no multiple of {}", n_in, kernel.row_multiple);
  return "";
}

// Types of which something reads rows of n_in, the one of about as many bits first.
std::string nearest_type(const DraftCall& call, const Target& target, int64_t n_in) {
  const auto bits = [](DType t) {
    const DTypeInfo& i = info(t);
    return 8.0 * static_cast<double>(i.block_bytes) / static_cast<double>(i.block_elements);
  };
  const double wanted = bits(*call.weight);
  const etch_kernel* best = nullptr;
  for (const etch_kernel& k : target.kernels) {
    if (k.args != call.kind || !k.weight || !why_not(k, n_in).empty()) continue;
    if (best == nullptr ||
        std::abs(bits(*k.weight) - wanted) < std::abs(bits(*best->weight) - wanted))
      best = &k;
  }
  return best == nullptr ? "" : fmt::format("; the nearest type that is: {}", name(*best->weight));
}

Status choose(const Draft& draft, DraftCall& call, const Target& target,
              std::vector<Choice>& choices) {
  const bool is_embed = call.kind == ArgsKind::embed;
  const int64_t n_in = is_embed ? call.i64("d") : call.i64("n_in");
  Choice choice;
  choice.node = call.origin.node;
  choice.prefill = draft.prefill;
  int64_t columns = draft.usual_rows_of(call.rows().of) * call.rows().per;
  const double blocks =
      is_embed ? 0 : static_cast<double>(n_in) * static_cast<double>(call.i64("n_out")) / 256;
  double best = 0;
  for (const etch_kernel& k : target.kernels) {
    if (k.args != call.kind || k.weight != call.weight) continue;
    Candidate candidate = {std::string(k.name), false, 0, why_not(k, n_in)};
    if (candidate.reason.empty()) {
      candidate.legal = true;
      candidate.cost = blocks * cycles_per_256(k, columns);
      if (call.kernel == nullptr || candidate.cost < best) {
        call.kernel = &k;
        best = candidate.cost;
      }
    }
    choice.candidates.push_back(std::move(candidate));
  }
  if (call.kernel == nullptr) {
    std::string reasons;
    for (const Candidate& c : choice.candidates)
      reasons += fmt::format("\n  {}: {}", c.kernel, c.reason);
    return fail(ErrorKind::unsupported,
                "{}{}tensor '{}' is {} ({} entries a row), which no {} kernel reads{}{}",
                call.origin.location, call.origin.location.empty() ? "" : ": ", call.origin.tensor,
                name(*call.weight), n_in, call.op, nearest_type(call, target, n_in), reasons);
  }
  choice.chosen = call.kernel->name;
  for (Candidate& c : choice.candidates) {
    if (!c.legal || c.kernel == choice.chosen) continue;
    c.reason =
        fmt::format("{:.2f} times the cycles at {} rows", best > 0 ? c.cost / best : 1, columns);
  }
  choices.push_back(std::move(choice));
  return {};
}

}  // namespace

const etch_kernel* find_kernel_for(const DraftCall& call, const Target& target) {
  const etch_kernel* any_cache = nullptr;
  const bool converts = call.kind == ArgsKind::quantize || call.kind == ArgsKind::norm;
  for (const etch_kernel& k : target.kernels) {
    if (k.args != call.kind || !does(k, call) || (converts && k.output != call.output)) continue;
    if (call.kv ? k.kv == call.kv : !k.kv) return &k;
    if (!call.kv) any_cache = &k;  // attention without a cache: what the cache holds is no matter
  }
  return any_cache;
}

Status select_kernels(Draft& draft, const Target& target, std::vector<Choice>& choices) {
  for (DraftCall& call : draft.calls) {
    if (has_weight(call.kind)) {
      ETCH_TRY(choose(draft, call, target, choices));
      continue;
    }
    call.kernel = find_kernel_for(call, target);
    if (call.kernel != nullptr) continue;
    return fail(ErrorKind::unsupported, "{}{}{} has no kernel{}", call.origin.location,
                call.origin.location.empty() ? "" : ": ", call.op,
                call.kv ? fmt::format(" for a cache of {}", name(*call.kv)) : "");
  }
  return {};
}

}  // namespace etch
