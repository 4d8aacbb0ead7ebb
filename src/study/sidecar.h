// The sidecar: what `etch compile MODEL -o DIR` writes beside the C and the library, so that a
// person or a program can read how a model is wired, planned and computed, and `etch verify DIR`
// can prove that nothing of it has changed. docs/sidecar.md has the schemas.
//
// To write one:  texts = make_artefacts(source); code and library beside them;
//                manifest = make_manifest(source, build, all of these)
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"

namespace etch {

// One file of a sidecar, by the list (sidecar.def).
struct SidecarFile {
  enum class When : uint8_t {
    always,
    if_text,      // the model has a vocabulary that etch reads
    if_template,  // it has a chat template
    if_rotary,    // the circuit turns by tables of frequencies
    code,         // written by the C printer
    built,        // made by the compiler; absent after --no-build
  };
  std::string_view name;     // "binding.json"
  std::string_view schema;   // "etch.binding/1", "" for files that are not JSON
  std::string_view purpose;  // one line
  When when = When::always;
};
std::span<const SidecarFile> sidecar_files();
const SidecarFile* find_sidecar_file(std::string_view name);

struct Artefact {
  std::string name;
  std::string bytes;
};

// What a sidecar is made from. `compiled` is what the C is printed from; `options` are those it was
// compiled with (recorded, so that it can be made again).
struct SidecarSource {
  const Compiled* compiled = nullptr;
  const EngineOptions* options = nullptr;
  const Tokenizer* tokenizer = nullptr;  // null: the model has none that etch reads
  std::string model_path;                // as given; recorded absolute
};

// All of the list that is text of its own: everything but manifest.json and what `code` and `built`
// say. Runs the canaries on an executor of the compiled plan.
Result<std::vector<Artefact>> make_artefacts(const SidecarSource& source);

// How model.c became libmodel.so.
struct BuildRecord {
  std::string compiler;            // "cc (Debian 12.2.0-14) 12.2.0"; "" with --no-build
  std::vector<std::string> flags;  // as given to it
};

// manifest.json: what the model and every other file are, by hash. `files` are all of them.
Result<Artefact> make_manifest(const SidecarSource& source, const BuildRecord& build,
                               std::span<const Artefact> files);

// ---- reading one

// Which model it is, to be asked quickly (size, header, a sample of the data) or wholly.
struct ModelIdentity {
  int64_t bytes = 0;   // of all parts
  std::string header;  // XXH3-128 of the bytes before the data, of all parts
  std::string sample;  // XXH3-128 of 64 pieces of 4 KiB, evenly spread over the mapping
  std::string sha256;  // of all bytes; of a split set, part after part
  bool operator==(const ModelIdentity&) const = default;
};
ModelIdentity quick_identity(const Model& model);  // without sha256
std::string whole_sha256(const Model& model);      // reads every byte

struct Manifest {
  struct File {
    std::string name;
    int64_t bytes = 0;
    std::string sha256;
  };
  std::string etch_version;
  std::string model_path, model_name;  // absolute; the last part of it
  ModelIdentity model;
  std::string architecture, circuit, circuit_sha256;
  Limits limits;                     // of the plan
  std::vector<std::string> without;  // passes left out
  BuildRecord build;
  std::vector<File> files;
};
// Damage of the manifest itself is found here.
Result<Manifest> read_manifest(const std::string& directory);

// Is a file of the directory the one that the manifest names? By size, then by hash.
Status check_file(const std::string& directory, const Manifest::File& file);
// The same for the files that run: the library and the circuit its plan is made again from.
Status check_running_files(const Manifest& manifest, const std::string& directory);

// Where the model of a sidecar is: `given` if not empty, else beside the directory, in it, or where
// it was when the sidecar was made.
Result<std::string> find_model(const Manifest& manifest, const std::string& directory,
                               const std::string& given = "");
// Refuses another model (ErrorKind::answer_is_no): quickly, by size, header and sample.
Status check_model(const Manifest& manifest, const Model& model);

// The options that make the same plan again: its circuit, limits and passes.
CompileOptions compile_options(const Manifest& manifest, const std::string& directory);

}  // namespace etch
