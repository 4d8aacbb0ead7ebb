// etch circuit: what circuits there are, what they say, whether they are sound, whether they run
// right, and a first draft of a new one.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "circuit/check.h"
#include "circuit/diagnostics.h"
#include "circuit/library.h"
#include "cli/engine_options.h"
#include "cli/parser.h"
#include "cli/render.h"
#include "cli/verb.h"
#include "study/draft_circuit.h"
#include "study/test_circuit.h"

namespace etch::cli {
namespace {

namespace fs = std::filesystem;

struct Flags {
  std::string action, what, circuit, output;
  int64_t seed = 1, mixes = 4;
  bool json = false;
};

Result<CircuitLibrary> library_for(const Flags& flags) {
  return load_library({.path = flags.circuit,
                       .called = "",
                       .user_folder = user_circuit_folder(),
                       .system_folder = kSystemCircuits});
}

// Named by a path, or by the name behind the word circuit.
Result<std::shared_ptr<const Circuit>> circuit_for(const Flags& flags) {
  if (flags.what.empty())
    return fail(ErrorKind::usage, "which circuit? `etch circuit {} NAME` or a path", flags.action);
  if (flags.what.find('/') != std::string::npos || flags.what.ends_with(".circuit")) {
    const std::string text = ETCH_TRY(read_file(flags.what, 16 << 20));
    return std::make_shared<const Circuit>(ETCH_TRY(parse_circuit(text, flags.what)));
  }
  const CircuitLibrary library = ETCH_TRY(library_for(flags));
  if (auto found = library.find(flags.what)) return found;
  std::vector<std::string_view> names;
  for (const auto& place : library.places) {
    for (const auto& c : place.circuits) names.push_back(c->name.text);
  }
  return fail(ErrorKind::usage, "there is no circuit '{}'{}", flags.what,
              suggestion(flags.what, names));
}

Result<int> list(const Flags& flags) {
  const CircuitLibrary library = ETCH_TRY(library_for(flags));
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  std::vector<std::vector<std::string>> rows;
  for (const auto& place : library.places) {
    for (const auto& c : place.circuits) {
      all.push_back({{"name", c->name.text},
                     {"revision", c->revision},
                     {"match", print(*c->match)},
                     {"file", c->file},
                     {"place", place.name}});
      rows.push_back({c->name.text, fmt::format("{}", c->revision), print(*c->match), c->file});
    }
  }
  ETCH_TRY(flags.json ? put_json({{"schema", "etch.circuits/1"}, {"circuits", std::move(all)}})
                      : put(table(rows, "lrll")));
  return 0;
}

Result<int> show(const Flags& flags) {
  const auto circuit = ETCH_TRY(circuit_for(flags));
  ETCH_TRY(flags.json ? put_json({{"schema", "etch.circuit/1"},
                                  {"name", circuit->name.text},
                                  {"file", circuit->file},
                                  {"text", circuit->text}})
                      : put(circuit->text));
  return 0;
}

Result<int> check(const Flags& flags) {
  const auto circuit = ETCH_TRY(circuit_for(flags));
  const Diagnostics found = check_circuit(*circuit);
  const int errors = found.count(Severity::error);
  if (flags.json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    constexpr const char* kSeverities[] = {"note", "warning", "error"};
    for (const Diagnostic& d : found.all()) {
      all.push_back({{"severity", kSeverities[static_cast<size_t>(d.severity)]},
                     {"line", d.at.line},
                     {"column", d.at.column},
                     {"message", d.message}});
    }
    ETCH_TRY(put_json(
        {{"schema", "etch.check/1"}, {"file", circuit->file}, {"findings", std::move(all)}}));
    return errors > 0 ? 1 : 0;
  }
  const std::string text = found.print();
  if (!text.empty()) ETCH_TRY(put(text + "\n"));
  ETCH_TRY(put(fmt::format("{}: {}\n", circuit->file,
                           errors > 0 ? fmt::format("{} errors", errors) : "sound")));
  return errors > 0 ? 1 : 0;
}

Result<int> test(const Flags& flags) {
  const auto circuit = ETCH_TRY(circuit_for(flags));
  CircuitTestOptions options;
  options.seed = static_cast<uint64_t>(flags.seed);
  options.n_mixes = static_cast<int>(flags.mixes);
  const CircuitTestReport report = ETCH_TRY(test_circuit(circuit, options));
  nlohmann::ordered_json models = nlohmann::ordered_json::array();
  std::vector<std::vector<std::string>> rows;
  for (const auto& m : report.models) {
    const bool executed = m.not_executed.empty();
    models.push_back({{"name", m.name},
                      {"failure", m.failure},
                      {"not_executed", m.not_executed},
                      {"error", executed ? nlohmann::ordered_json(m.float_error) : nullptr}});
    const std::string error = m.float_error >= 0 ? fmt::format("error {:.1e}", m.float_error) : "";
    rows.push_back({!m.failure.empty() ? coloured("FAILED", Colour::red, stdout)
                    : executed         ? "ok"
                                       : "plain only",
                    m.name, error, !m.failure.empty() ? m.failure : m.not_executed});
  }
  if (flags.json) {
    ETCH_TRY(put_json({{"schema", "etch.circuit-test/1"},
                       {"circuit", circuit->file},
                       {"failed", report.n_failed()},
                       {"executed", report.n_executed()},
                       {"models", std::move(models)}}));
  } else {
    ETCH_TRY(put(table(rows, "llll") + fmt::format("{}: {} models, {} failed, {} executed\n",
                                                   circuit->file, report.models.size(),
                                                   report.n_failed(), report.n_executed())));
  }
  return report.n_failed() > 0 ? 1 : 0;
}

Result<int> draft(const Flags& flags) {
  if (flags.what.empty())
    return fail(ErrorKind::usage, "a circuit for which file? `etch circuit new MODEL`");
  auto model = std::make_shared<const Model>(ETCH_TRY(read_model(flags.what)));
  const CircuitLibrary library = ETCH_TRY(library_for(flags));
  const CircuitDraft draft =
      ETCH_TRY(draft_circuit(library, model, fs::path(flags.what).filename().string()));
  if (!flags.output.empty()) {
    if (fs::exists(flags.output))
      return fail(ErrorKind::usage, "{} exists already; a draft never replaces a file",
                  flags.output);
    ETCH_TRY(write_file(flags.output, draft.text));
  }
  if (flags.json) {
    ETCH_TRY(put_json({{"schema", "etch.circuit-draft/1"},
                       {"nearest", draft.nearest},
                       {"tensors", draft.n_tensors},
                       {"known", draft.n_known},
                       {"open", draft.open},
                       {"text", draft.text}}));
  } else if (flags.output.empty()) {
    ETCH_TRY(put(draft.text));
  } else {
    std::string text = fmt::format("{}: made from {}, which knows {} of {} tensors\n", flags.output,
                                   draft.nearest, draft.n_known, draft.n_tensors);
    for (const std::string& o : draft.open) text += "  " + o + "\n";
    ETCH_TRY(put(text));
  }
  return 0;
}

Result<int> run(const Flags& flags) {
  if (!flags.output.empty() && flags.action != "new")
    return fail(ErrorKind::usage, "-o is for `etch circuit new`");
  if (flags.action == "list") return list(flags);
  if (flags.action == "show") return show(flags);
  if (flags.action == "check") return check(flags);
  if (flags.action == "test") return test(flags);
  if (flags.action == "new") return draft(flags);
  constexpr std::string_view kActions[] = {"list", "show", "check", "test", "new"};
  return fail(ErrorKind::usage, "circuit {}: expected list, show, check, test or new{}",
              flags.action, suggestion(flags.action, kActions));
}

}  // namespace

Action setup_circuit(Parser& parser) {
  parser.describe("Circuits: how the parts of a model are wired, one page for each architecture.",
                  "  etch circuit list\n"
                  "  etch circuit show llama\n"
                  "  etch circuit check my.circuit\n"
                  "  etch circuit test my.circuit --mixes 20\n"
                  "  etch circuit new model.gguf -o my.circuit");
  auto flags = std::make_shared<Flags>();
  parser.text("action", flags->action, "list|show|check|test|new", "what to do");
  parser.require("action");
  parser.text("circuit", flags->what, "CIRCUIT", "name, or path of a file; new: a GGUF file");
  parser.text("-o,--output", flags->output, "FILE",
              "new: where the draft goes (default: standard output)");
  parser.text("--circuit", flags->circuit, "PATH",
              "circuit file, or folder of circuits, before all others");
  parser.number("--mixes", flags->mixes, "test: models of random mixes of types (default 4)", 0,
                1000);
  parser.number("--seed", flags->seed, "test: another seed, other models (default 1)", 0);
  parser.flag("--json", flags->json, "as JSON");
  return [flags] { return run(*flags); };
}

}  // namespace etch::cli
