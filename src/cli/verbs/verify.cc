// etch verify: is a sidecar, or a model file, what it should be?
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/engine_options.h"
#include "cli/parser.h"
#include "cli/render.h"
#include "cli/verb.h"
#include "study/verify_model.h"
#include "study/verify_sidecar.h"

namespace etch::cli {
namespace {

struct Flags {
  std::string path, model;
  EngineFlags engine;
  bool json = false;
};

std::string_view name(Check::Outcome outcome) {
  constexpr std::string_view kNames[] = {"holds", "fails", "left out"};
  return kNames[static_cast<size_t>(outcome)];
}

nlohmann::ordered_json to_json(const std::string& path, const VerifyReport& report) {
  nlohmann::ordered_json checks = nlohmann::ordered_json::array();
  for (const Check& c : report.checks)
    checks.push_back({{"name", c.name}, {"outcome", name(c.outcome)}, {"detail", c.detail}});
  return {{"schema", "etch.verify/1"},
          {"path", path},
          {"failed", report.n_failed()},
          {"checks", std::move(checks)}};
}

std::string to_text(const VerifyReport& report) {
  std::vector<std::vector<std::string>> rows;
  for (const Check& c : report.checks) {
    const bool fails = c.outcome == Check::Outcome::fails;
    std::string detail = c.detail;
    for (size_t at = 0; (at = detail.find('\n', at)) != std::string::npos; at += 5)
      detail.replace(at, 1, "\n    ");
    rows.push_back({fails                                   ? coloured("FAILS", Colour::red, stdout)
                    : c.outcome == Check::Outcome::left_out ? "-"
                                                            : "ok",
                    c.name, std::move(detail)});
  }
  const int failed = report.n_failed();
  return table(rows, "lll") +
         (failed == 0 ? "everything holds\n"
                      : fmt::format("{} of {} checks fail\n", failed, report.checks.size()));
}

Result<int> run(const Flags& flags) {
  const EngineOptions options = ETCH_TRY(engine_options(flags.engine));
  const bool sidecar = is_sidecar(flags.path);
  if (!sidecar && !flags.model.empty())
    return fail(ErrorKind::usage, "--model says where the model of a directory is; {} is none",
                flags.path);
  const VerifyReport report =
      ETCH_TRY(sidecar ? verify_sidecar(flags.path, flags.model, options)
                       : verify_model(flags.path, options).context(flags.path));
  ETCH_TRY(flags.json ? put_json(to_json(flags.path, report)) : put(to_text(report)));
  return report.n_failed() > 0 ? 1 : 0;
}

}  // namespace

Action setup_verify(Parser& parser) {
  parser.describe(
      "Is a compiled model, or a model file, what it should be? Of a directory: every hash, the\n"
      "whole model file, the plan, and the canaries on executor and library. Of a file: its\n"
      "structure, binding and plan, and that every way of running it gives the same bits.",
      "  etch verify smollm2/\n"
      "  etch verify smollm2/ --model /models/SmolLM2.gguf\n"
      "  etch verify model.gguf");
  auto flags = std::make_shared<Flags>();
  parser.text("path", flags->path, "DIR|FILE", "directory of `etch compile`, or GGUF file");
  parser.require("path");
  parser.text("--model", flags->model, "FILE", "where the model of a directory is");
  parser.flag("--json", flags->json, "as JSON (etch.verify/1)");
  add_engine_options(parser, flags->engine);
  return [flags] { return run(*flags); };
}

}  // namespace etch::cli
