#include "lower/lower.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "lower/drafter.h"
#include "lower/kernel_choice.h"
#include "lower/passes.h"
#include "lower/plan_states.h"
#include "lower/schedule.h"
#include "lowered/verify.h"

namespace etch {
namespace {

bool has_tokens(const Graph& graph) {
  return std::any_of(graph.inputs.begin(), graph.inputs.end(), [&](ValueId v) {
    return graph.values[static_cast<size_t>(v)].rows == Rows::tokens;
  });
}

// The steps each list is for: up to ETCH_DECODE_ROWS rows, and more. Graphs without tokens have one
// list and one step.
void set_sizes(Lowered& lowered) {
  const Limits& limits = lowered.limits;
  if (!lowered.has_tokens) {
    lowered.decode.max_rows = lowered.decode.max_outputs = 1;
    return;
  }
  lowered.decode.max_rows = std::min<int64_t>(ETCH_DECODE_ROWS, limits.n_rows);
  lowered.decode.max_outputs = std::min(lowered.decode.max_rows, limits.n_outputs);
  if (limits.n_rows <= ETCH_DECODE_ROWS) return;
  lowered.prefill.max_rows = limits.n_rows;
  lowered.prefill.max_outputs = std::min(limits.n_rows, limits.n_outputs);
}

// One list, from the graph to addresses.
Status lower_list(const Graph& graph, const Target& target, const LowerOptions& options,
                  bool prefill, Constants& constants, Lowered& lowered) {
  CallList& list = prefill ? lowered.prefill : lowered.decode;
  Draft draft;
  draft.prefill = prefill;
  draft.max_rows = list.max_rows;
  draft.max_outputs = list.max_outputs;
  draft.usual_rows = prefill ? list.max_rows : 1;
  // What the graph says, call by call, in float32.
  ETCH_TRY(Drafter(graph, options, lowered, constants, draft).run());
  ETCH_TRY(verify_draft(draft, "draft_graph"));
  // Fewer calls that say the same.
  ETCH_TRY(run_passes(draft, target, options, false, lowered.passes));
  // Who does them, and what their inputs must look like.
  ETCH_TRY(select_kernels(draft, target, lowered.choices));
  ETCH_TRY(insert_conversions(draft, target));
  ETCH_TRY(verify_draft(draft, "insert_conversions"));
  ETCH_TRY(run_passes(draft, target, options, true, lowered.passes));
  // When, by which threads, and where.
  schedule(draft);
  list = plan_arena(std::move(draft), lowered);
  return {};
}

}  // namespace

Result<Lowered> lower(const Graph& graph, const Target& target, const LowerOptions& options) {
  const std::vector<std::string> passes = lowering_passes();
  for (const std::string& name : options.without)
    if (std::find(passes.begin(), passes.end(), name) == passes.end())
      return fail(ErrorKind::usage, "no lowering pass is called '{}' (there are: {})", name,
                  fmt::join(passes, ", "));
  Lowered lowered;
  lowered.name = graph.name;
  lowered.limits = options.limits;
  lowered.has_tokens = has_tokens(graph);
  set_sizes(lowered);
  find_weight_bases(graph, lowered);
  plan_states(graph, lowered);
  ETCH_TRY(plan_inputs_and_outputs(graph, lowered));
  Constants constants(lowered.constants);
  ETCH_TRY(lower_list(graph, target, options, false, constants, lowered));
  if (lowered.prefill.max_rows > 0)
    ETCH_TRY(lower_list(graph, target, options, true, constants, lowered));
  for (State& s : lowered.states) s.window = std::max<int64_t>(s.window, 0);
  ETCH_TRY(verify(lowered));
  return lowered;
}

}  // namespace etch
