#include "study/verify_model.h"

#include "circuit/ast.h"
#include "graph/verify.h"
#include "lowered/verify.h"
#include "study/canary.h"

namespace etch {
namespace {

constexpr int64_t kMore = 4;  // greedy steps behind a prompt

std::string counted(size_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

void check(VerifyReport& report, std::string name, const Status& status, std::string detail) {
  if (status.has_value())
    report.holds(std::move(name), std::move(detail));
  else
    report.fails(std::move(name), status.error().message);
}

// The prompts in one way of running them.
class Ways {
 public:
  Ways(Engine& engine, const EngineOptions& options, VerifyReport& report)
      : engine_(engine), options_(options), report_(report) {}

  Status first() {
    Session& session = *engine_.session;
    canaries_ = {.output = session.n_vocab() > 0 ? "logits" : "hidden", .kv = "", .prompts = {}};
    canaries_.prompts = ETCH_TRY(
        canary_prompts(engine_.tokenizer.get(), session.n_vocab(), session.lowered().limits));
    ETCH_TRY(run_canaries(session, canaries_.prompts, kMore));
    size_t steps = 0;
    for (const Canary& c : canaries_.prompts) steps += c.steps.size();
    report_.holds("prompts",
                  fmt::format("{}, {} on {}, {}", counted(canaries_.prompts.size(), "prompt"),
                              counted(steps, "step"), isa_name(session.isa()),
                              counted(static_cast<size_t>(session.n_threads()), "thread")));
    return {};
  }

  // Another way; `n_prompts` of them, the shortest first.
  void again(const std::string& name, const EngineOptions& how, size_t n_prompts) {
    auto differences = differences_of(how, n_prompts);
    if (!differences)
      report_.fails(name, differences.error().message);
    else if (!differences->empty())
      report_.fails(name, "not the same bits: " + differences->front());
    else
      report_.holds(name, "the same bits");
  }

 private:
  Result<std::vector<std::string>> differences_of(const EngineOptions& how, size_t n_prompts) {
    const Compiled compiled = ETCH_TRY(compile_for(engine_.model, how));
    const auto session =
        ETCH_TRY(Session::create(compiled.lowered, engine_.model->bytes(), how.session));
    Canaries some = canaries_;
    some.prompts.resize(std::min(n_prompts, some.prompts.size()));
    return replay(*session, some);
  }

  Engine& engine_;
  const EngineOptions& options_;
  VerifyReport& report_;
  Canaries canaries_;
};

}  // namespace

void verify_plan(const Compiled& compiled, VerifyReport& report) {
  const Lowered& l = *compiled.lowered;
  const std::string calls =
      fmt::format("{} in decode, {} in prefill", counted(l.decode.calls.size(), "call"),
                  l.prefill.calls.size());
  check(report, "graph", verify(*compiled.graph), counted(compiled.graph->nodes.size(), "node"));
  check(report, "calls", verify(l), calls);
  check(report, "races", check_races(l), "a barrier between all calls that need one");
  check(report, "memory", check_overlaps(l), counted(l.buffers.size(), "buffer"));
}

Result<VerifyReport> verify_model(const std::string& path, const EngineOptions& options) {
  VerifyReport report;
  EngineOptions how = options;
  auto engine = load_engine(path, how);
  if (!engine && engine.error().kind == ErrorKind::unsupported) {  // perhaps only for its words
    how.needs_text = false;
    engine = load_engine(path, how);
  }
  if (!engine) return tl::unexpected(std::move(engine).error());
  const Model& model = *engine->model;
  report.holds("file", fmt::format("{}, {} in {} bytes", counted(model.file->keys.size(), "key"),
                                   counted(model.weights.size(), "tensor"), model.bytes().size()));
  const Binding& binding = *engine->compiled.binding;
  report.holds("binding",
               fmt::format("{}, {}{}", binding.circuit->file, counted(binding.parts.size(), "part"),
                           binding.warnings.empty()
                               ? ""
                               : fmt::format("; {}", counted(binding.warnings.size(), "warning"))));
  verify_plan(engine->compiled, report);

  Ways ways(*engine, how, report);
  if (Status first = ways.first(); !first) {
    report.fails("prompts", first.error().message);
    return report;
  }
  const bool keeps_states = !engine->compiled.lowered->states.empty();
  EngineOptions other = how;
  other.session.n_threads = engine->session->n_threads() == 1 ? 2 : 1;
  ways.again(other.session.n_threads == 1 ? "1 thread" : "2 threads", other, 2);
  if (keeps_states) {
    other = how;
    other.compile.limits.n_rows = 1;
    ways.again("token by token", other, 2);
    other.compile.limits.n_rows = 33;
    ways.again("in chunks of 33", other, 3);
  }
  for (int i = 0; i < ETCH_ISA_COUNT; ++i) {
    const auto isa = static_cast<etch_isa>(i);
    if (isa == engine->session->isa()) continue;
    if (!cpu_has(isa)) {
      report.left_out(std::string(isa_name(isa)), "this machine does not have it");
      continue;
    }
    other = how;
    other.session.isa = isa;
    ways.again(std::string(isa_name(isa)), other, isa == ETCH_SCALAR ? 1 : 2);
  }
  other = how;
  other.session.guard = true;
  ways.again("guard", other, 2);
  return report;
}

}  // namespace etch
