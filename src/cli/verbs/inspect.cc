// etch inspect: one screen about a file.
#include "study/inspect.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "cli/engine_options.h"
#include "cli/parser.h"
#include "cli/render.h"
#include "cli/verb.h"

namespace etch::cli {
namespace {

struct Flags {
  std::string model;
  EngineFlags engine;
  bool json = false;
};

nlohmann::ordered_json to_json(const Inspection& i) {
  nlohmann::ordered_json types = nlohmann::ordered_json::array();
  for (const TypeShare& t : i.types) {
    types.push_back({{"type", name(t.dtype)},
                     {"tensors", t.tensors},
                     {"elements", t.elements},
                     {"bytes", t.bytes}});
  }
  nlohmann::ordered_json j = {
      {"schema", "etch.inspect/1"},
      {"file", i.path},
      {"file_bytes", i.file_bytes},
      {"name", i.name},
      {"architecture", i.architecture},
      {"circuit", i.circuit.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(i.circuit)},
      {"parameters", i.parameters},
      {"bits_per_weight", i.bits_per_weight},
      {"n_layers", i.n_layers},
      {"d_model", i.d_model},
      {"n_vocab", i.n_vocab},
      {"trained_context", i.trained_context},
      {"types", std::move(types)},
      {"vocabulary", i.vocabulary},
      {"vocabulary_bytes", i.vocabulary_bytes},
      {"chat_template", i.has_chat_template},
      {"available_memory", i.available},
      {"odd", i.odd}};
  if (i.memory) {
    j["n_ctx"] = i.limits.n_ctx;
    j["n_threads"] = i.n_threads;
    j["kv_type"] = name(i.limits.kv);
    j["memory"] = {{"weights", i.memory->weights},
                   {"kv", i.memory->kv},
                   {"arena", i.memory->arena},
                   {"total", i.memory->total}};
    j["fits"] = i.memory->total <= i.available;
  } else {
    j["memory"] = nullptr;
    j["problem"] = i.problem->message;
  }
  return j;
}

std::string shape_line(const Inspection& i) {
  std::string line;
  const auto add = [&](int64_t n, const char* what) {
    if (n > 0) line += fmt::format("{}{} {}", line.empty() ? "" : ", ", n, what);
  };
  add(i.n_layers, "layers");
  add(i.d_model, "wide");
  add(i.n_vocab, "tokens");
  if (i.trained_context > 0)
    line += fmt::format("{}trained for {} positions", line.empty() ? "" : ", ", i.trained_context);
  return line;
}

std::string types_line(const Inspection& i) {
  int64_t bytes = 0;
  for (const TypeShare& t : i.types) bytes += t.bytes;
  std::string line;
  for (const TypeShare& t : i.types) {
    line += fmt::format(
        "{}{} {} tensors {:.1f} %", line.empty() ? "" : " · ", name(t.dtype), t.tensors,
        bytes > 0 ? 100.0 * static_cast<double>(t.bytes) / static_cast<double>(bytes) : 0.0);
  }
  return line;
}

std::string memory_text(const Inspection& i) {
  const MemoryReport& m = *i.memory;
  const std::string fit =
      i.available == 0         ? "what is available here is not known"
      : m.total <= i.available ? fmt::format("fits: {} are available", human_bytes(i.available))
      : m.kv + m.arena <= i.available
          ? fmt::format(
                "does not fit: {} are available, so parts of the file will be read again and again",
                human_bytes(i.available))
          : fmt::format("does not fit: {} are available", human_bytes(i.available));
  return fmt::format("\nmemory for {} positions, {} keys and values, {} threads\n", i.limits.n_ctx,
                     name(i.limits.kv), i.n_threads) +
         table({{"  weights", human_bytes(m.weights), "mapped from the file"},
                {"  kv", human_bytes(m.kv), "touched as the context fills"},
                {"  arena", human_bytes(m.arena), "scratch"},
                {"  total", human_bytes(m.total), fit}},
               "lrl");
}

std::string to_text(const Inspection& i) {
  const auto or_none = [](const std::string& s) {
    return s.empty() ? std::string("none") : quote(s);
  };
  std::vector<std::vector<std::string>> rows = {
      {"file", fmt::format("{}, GGUF v{}{}", human_bytes(i.file_bytes), i.version,
                           i.n_parts > 1 ? fmt::format(", {} parts", i.n_parts) : "")},
      {"name", or_none(i.name)},
      {"architecture", fmt::format("{}, {}", or_none(i.architecture),
                                   i.circuit.empty() ? "no circuit" : i.circuit)},
      {"shape", shape_line(i)},
      {"parameters",
       fmt::format("{}, {:.2f} bits per weight", human_count(i.parameters), i.bits_per_weight)},
      {"types", types_line(i)},
      {"text", i.vocabulary.empty() ? "no vocabulary"
                                    : i.vocabulary + (i.has_chat_template ? ", chat template"
                                                                          : ", no chat template")}};
  std::erase_if(rows, [](const auto& row) { return row[1].empty(); });
  std::string text = table(rows, "ll");
  if (i.memory) text += memory_text(i);
  if (i.problem) text += "\ndoes not run here\n  " + i.problem->message + "\n";
  text += "\nodd\n";
  for (const std::string& o : i.odd) text += "  " + o + "\n";
  if (i.odd.empty()) text += "  nothing\n";
  return text;
}

Result<int> run(const Flags& flags) {
  const EngineOptions options = ETCH_TRY(engine_options(flags.engine));
  const Inspection i = ETCH_TRY(inspect(flags.model, options).context(flags.model));
  ETCH_TRY(flags.json ? put_json(to_json(i)) : put(to_text(i)));
  return 0;
}

}  // namespace

Action setup_inspect(Parser& parser) {
  parser.describe(
      "What a model file is, whether it fits on this machine, and what is odd about it.",
      "  etch inspect model.gguf\n"
      "  etch inspect model.gguf --ctx 32768 --kv q8_0\n"
      "  etch inspect model.gguf --json");
  auto flags = std::make_shared<Flags>();
  parser.text("model", flags->model, "FILE", "GGUF file");
  parser.require("model");
  parser.flag("--json", flags->json, "as JSON (etch.inspect/1)");
  add_engine_options(parser, flags->engine);
  return [flags] { return run(*flags); };
}

}  // namespace etch::cli
