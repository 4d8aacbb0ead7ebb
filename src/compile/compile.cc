#include "compile/compile.h"

#include <algorithm>
#include <chrono>

#include "circuit/bind.h"
#include "circuit/library.h"
#include "graph/build_graph.h"
#include "graph/passes.h"
#include "lower/lower.h"

namespace etch {
namespace {

// Runs a stage and notes how long it took.
template <class Stage>
auto timed(std::vector<StageTime>& stages, std::string name, Stage&& stage) {
  const auto start = std::chrono::steady_clock::now();
  auto result = stage();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  stages.push_back({std::move(name), seconds.count()});
  return result;
}

bool is_graph_pass(std::string_view name) {
  const auto passes = graph_passes();
  return std::any_of(passes.begin(), passes.end(),
                     [&](const GraphPass& p) { return p.name == name; });
}

PassOptions graph_options(const CompileOptions& options) {
  PassOptions passes;
  for (const std::string& name : options.without) {
    if (is_graph_pass(name)) passes.without.insert(name);
  }
  return passes;
}

LowerOptions lower_options(const CompileOptions& options, const Limits& limits) {
  LowerOptions lowering = {.limits = limits};
  for (const std::string& name : options.without) {
    if (!is_graph_pass(name)) lowering.without.insert(name);
  }
  return lowering;
}

// What the options leave open, from the model.
Limits limits_for(const Model& model, const Limits& asked) {
  Limits limits = asked;
  if (limits.n_ctx == 0) {
    const int64_t trained = trained_context(model);
    limits.n_ctx = trained > 0 ? std::min(trained, kDefaultContext) : kDefaultContext;
  }
  if (limits.n_rows == 0) limits.n_rows = kDefaultRows;
  limits.n_rows = std::min(limits.n_rows, limits.n_ctx);
  return limits;
}

// Rows of logits that fit into kLogitBytes, where the caller wants as many as possible.
int64_t outputs_for(const Binding& binding, const Limits& limits) {
  if (limits.n_outputs > 0) return std::min(limits.n_outputs, limits.n_rows);
  const int64_t row = std::max<int64_t>(1, binding.n_vocab) * static_cast<int64_t>(sizeof(float));
  return std::clamp<int64_t>(kLogitBytes / row, 1, limits.n_rows);
}

template <class T>
Result<std::shared_ptr<const T>> shared(Result<T> made) {
  if (!made) return tl::unexpected(std::move(made).error());
  return std::make_shared<const T>(std::move(*made));
}

Status refuse_warnings(const std::vector<std::string>& warnings) {
  std::string all;
  for (const std::string& w : warnings) all += "\n  " + w;
  return fail(ErrorKind::unsupported, "--strict takes these warnings for errors:{}", all);
}

}  // namespace

int64_t trained_context(const Model& model) {
  const KeyValue* value = model.arch_key("context_length");
  return value ? std::max<int64_t>(0, value->integer().value_or(0)) : 0;
}

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const GraphPass& p : graph_passes()) names.emplace_back(p.name);
  for (std::string& name : lowering_passes()) names.push_back(std::move(name));
  return names;
}

Result<Compiled> compile(std::shared_ptr<const Model> model, const CompileOptions& options) {
  Compiled c;
  c.model = model;
  Limits limits = limits_for(*model, options.limits);

  // The circuits there are: given ones, the user's, the system's, those inside etch.
  const CircuitLibrary library = ETCH_TRY(timed(c.stages, "load_library", [&] {
    return load_library({.path = options.circuit,
                         .called = options.circuit_called,
                         .user_folder = options.user_circuits,
                         .system_folder = options.system_circuits});
  }));
  // The one that the file wants.
  const auto circuit =
      ETCH_TRY(timed(c.stages, "find_circuit", [&] { return find_circuit(library, *model); }));
  // Its dims, parts and states with the numbers, tensors and sizes of this file.
  c.binding = ETCH_TRY(timed(c.stages, "bind", [&] {
    return shared(bind(circuit, model, {.n_ctx = limits.n_ctx, .strict = options.strict}));
  }));
  limits.n_outputs = outputs_for(*c.binding, limits);
  // What it computes, as nodes and values; then the same, simpler.
  auto graph = ETCH_TRY(timed(c.stages, "build_graph", [&] { return build_graph(*c.binding); }));
  for (const PassRecord& pass : ETCH_TRY(run_passes(graph, graph_options(options)))) {
    c.stages.push_back({std::string(pass.name), pass.seconds});
  }
  c.graph = std::make_shared<const Graph>(std::move(graph));
  // How this machine computes it: kernels, their order, every byte of memory.
  c.lowered = ETCH_TRY(timed(c.stages, "lower", [&] {
    return shared(lower(*c.graph, {}, lower_options(options, limits)));
  }));

  c.warnings = model->file->warnings;
  c.warnings.insert(c.warnings.end(), c.binding->warnings.begin(), c.binding->warnings.end());
  if (options.strict && !c.warnings.empty()) ETCH_TRY(refuse_warnings(c.warnings));
  return c;
}

}  // namespace etch
