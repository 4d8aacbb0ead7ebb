// etch explain: how a model is computed, and why so.
#include "study/explain.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "circuit/ast.h"
#include "cli/engine_options.h"
#include "cli/parser.h"
#include "cli/render.h"
#include "cli/verb.h"
#include "graph/passes.h"
#include "graph/print.h"
#include "lowered/print.h"

namespace etch::cli {
namespace {

struct Flags {
  std::string model, what;
  EngineFlags engine;
  bool json = false, graph = false, plan = false, passes = false;
};

nlohmann::ordered_json to_json(const Explanation& e) {
  nlohmann::ordered_json calls = nlohmann::ordered_json::array(),
                         choices = nlohmann::ordered_json::array();
  for (const ExplainedCall& c : e.calls) {
    calls.push_back(
        {{"list", c.prefill ? "prefill" : "decode"}, {"call", c.number}, {"text", c.text}});
  }
  for (const Choice& c : e.choices) {
    nlohmann::ordered_json candidates = nlohmann::ordered_json::array();
    for (const Candidate& k : c.candidates) {
      candidates.push_back(
          {{"kernel", k.kernel}, {"legal", k.legal}, {"cost", k.cost}, {"reason", k.reason}});
    }
    choices.push_back({{"list", c.prefill ? "prefill" : "decode"},
                       {"chosen", c.chosen},
                       {"candidates", std::move(candidates)}});
  }
  return {{"node", e.node},
          {"what", e.what},
          {"location", e.location},
          {"tensor", e.tensor},
          {"calls", std::move(calls)},
          {"choices", std::move(choices)}};
}

std::string to_text(const Explanation& e) {
  std::string text =
      coloured(fmt::format("n{}", e.node), Colour::bold, stdout) + "  " + e.what + "\n";
  if (!e.location.empty()) text += "  " + e.location + "\n";
  if (!e.tensor.empty()) text += "  " + e.tensor + "\n";
  for (const ExplainedCall& c : e.calls) {
    text += fmt::format("  {} call {}: {}\n", c.prefill ? "prefill" : "decode", c.number, c.text);
  }
  if (e.calls.empty()) text += "  no call of its own: a view, or part of another node's call\n";
  for (const Choice& c : e.choices) {
    text += fmt::format("  {}: {}\n", c.prefill ? "prefill" : "decode", c.chosen);
    std::vector<std::vector<std::string>> rows;
    for (const Candidate& k : c.candidates) {
      rows.push_back({"    " + k.kernel,
                      k.legal ? fmt::format("{:.0f} cycles", k.cost) : "not legal", k.reason});
    }
    text += table(rows, "lrl");
  }
  return text;
}

Status print_overview(const Compiled& compiled, bool json) {
  const Lowered& lowered = *compiled.lowered;
  const std::vector<KernelLine> lines = kernel_lines(compiled);
  if (json) {
    nlohmann::ordered_json kernels = nlohmann::ordered_json::array(),
                           stages = nlohmann::ordered_json::array();
    for (const KernelLine& l : lines) {
      kernels.push_back({{"node", l.node},
                         {"tensor", l.tensor},
                         {"type", l.type},
                         {"shape", l.shape},
                         {"decode", l.decode},
                         {"prefill", l.prefill}});
    }
    for (const StageTime& s : compiled.stages)
      stages.push_back({{"name", s.name}, {"seconds", s.seconds}});
    return put_json({{"schema", "etch.explain/1"},
                     {"circuit", compiled.binding->circuit->file},
                     {"stages", std::move(stages)},
                     {"kernels", std::move(kernels)}});
  }
  std::vector<std::vector<std::string>> rows = {
      {"node", "tensor", "type", "shape", "decode", "prefill"}};
  for (const KernelLine& l : lines)
    rows.push_back({fmt::format("n{}", l.node), l.tensor, l.type, l.shape, l.decode, l.prefill});
  std::string text = table(rows, "rlllll");
  text += fmt::format("\n{} calls in decode, {} in prefill, {} buffers, arena {}\n",
                      lowered.decode.calls.size(), lowered.prefill.calls.size(),
                      lowered.buffers.size(), human_bytes(lowered.arena_bytes));
  for (const StageTime& s : compiled.stages)
    text += fmt::format("  {:<24} {:8.2f} ms\n", s.name, s.seconds * 1e3);
  return put(text);
}

Status print_passes(bool json) {
  const std::vector<std::string> names = pass_names();
  if (json) return put_json({{"schema", "etch.passes/1"}, {"passes", names}});
  std::string text;
  for (const std::string& n : names) text += n + "\n";
  return put(text);
}

Result<int> run(const Flags& flags) {
  if (flags.passes) {
    ETCH_TRY(print_passes(flags.json));
    return 0;
  }
  if (flags.model.empty()) return fail(ErrorKind::usage, "which model?");
  const EngineOptions options = ETCH_TRY(engine_options(flags.engine));
  const auto model = std::make_shared<const Model>(ETCH_TRY(read_model(flags.model)));
  const Compiled compiled = ETCH_TRY(compile_for(model, options).context(flags.model));
  for (const std::string& w : compiled.warnings) print_warning(w);
  if (flags.graph) {
    ETCH_TRY(put(flags.json ? print_json(*compiled.graph) : print(*compiled.graph)));
  } else if (flags.plan) {
    ETCH_TRY(put(flags.json ? print_json(*compiled.lowered) : print(*compiled.lowered)));
  } else if (flags.what.empty()) {
    ETCH_TRY(print_overview(compiled, flags.json));
  } else {
    const std::vector<Explanation> found = ETCH_TRY(explain(compiled, flags.what));
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    std::string text;
    for (const Explanation& e : found) {
      if (flags.json) all.push_back(to_json(e));
      if (!flags.json) text += to_text(e);
    }
    ETCH_TRY(flags.json ? put_json({{"schema", "etch.explain/1"}, {"nodes", std::move(all)}})
                        : put(text));
  }
  return 0;
}

}  // namespace

Action setup_explain(Parser& parser) {
  parser.describe(
      "How a model is computed: the kernels of its weights, or one node through all stages.",
      "  etch explain model.gguf\n"
      "  etch explain model.gguf n17\n"
      "  etch explain model.gguf blk.0.attn_q.weight\n"
      "  etch explain model.gguf --graph");
  auto flags = std::make_shared<Flags>();
  parser.text("model", flags->model, "FILE", "GGUF file");
  parser.text("node", flags->what, "NODE", "node, tensor or wire");
  parser.flag("--graph", flags->graph, "the whole graph");
  parser.flag("--plan", flags->plan, "all calls and buffers");
  parser.flag("--passes", flags->passes, "the names --without takes");
  parser.flag("--json", flags->json, "as JSON");
  add_engine_options(parser, flags->engine);
  return [flags] { return run(*flags); };
}

}  // namespace etch::cli
