#include "study/sidecar.h"

#include <algorithm>

#include "circuit/ast.h"
#include "graph/print.h"
#include "lowered/print.h"
#include "study/canary.h"
#include "study/sidecar_parts.h"

namespace etch {

std::span<const SidecarFile> sidecar_files() {
  static constexpr SidecarFile kFiles[] = {
#define SIDECAR(name, schema, when, purpose) {name, schema, purpose, SidecarFile::When::when},
#include "study/sidecar.def"
  };
  return kFiles;
}

const SidecarFile* find_sidecar_file(std::string_view name) {
  const auto files = sidecar_files();
  const auto at = std::find_if(files.begin(), files.end(),
                               [&](const SidecarFile& f) { return f.name == name; });
  return at == files.end() ? nullptr : &*at;
}

namespace {

Result<std::string> canary_text(const SidecarSource& source) {
  const Compiled& c = *source.compiled;
  SessionOptions options = source.options->session;
  options.n_threads = static_cast<int32_t>(c.lowered->limits.n_threads);
  const auto session = ETCH_TRY(Session::create(c.lowered, c.model->bytes(), options));
  return print_canaries_json(ETCH_TRY(make_canaries(*session, source.tokenizer)));
}

}  // namespace

Result<std::vector<Artefact>> make_artefacts(const SidecarSource& source) {
  const Compiled& c = *source.compiled;
  std::vector<Artefact> files;
  files.push_back({"model.circuit", c.binding->circuit->text});
  files.push_back({"binding.json", print_binding_json(*c.binding)});
  files.push_back({"graph.json", print_json(*c.graph)});
  files.push_back({"kernels.json", print_kernels_json(c)});
  files.push_back({"lowered.json", print_json(*c.lowered)});
  files.push_back({"plan.txt", print_plan(c)});
  if (source.tokenizer)
    files.push_back(
        {"tokenizer.json", print_tokenizer_json(*c.model, source.tokenizer->vocabulary())});
  if (const KeyValue* chat = c.model->key("tokenizer.chat_template"); chat && chat->text())
    files.push_back({"chat_template.jinja", std::string(*chat->text())});
  if (!c.binding->rotaries.empty()) files.push_back({"rope.bin", rope_bytes(*c.binding)});
  files.push_back({"canary.json", ETCH_TRY(canary_text(source).context("canaries"))});
  files.push_back({"report.html", print_report(c)});
  return files;
}

}  // namespace etch
