// What stands behind the first argument of verbs that run a model: a GGUF file, or a directory that
// `etch compile` has made of one, whose library then runs.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/engine_options.h"
#include "engine/engine.h"

namespace etch::cli {

struct ModelFlags {
  std::string model;  // file or directory
  std::string gguf;   // --model: where the file of a directory is
};
void add_model_options(Parser& parser, ModelFlags& flags);

Result<Engine> load_model(const ModelFlags& flags, const EngineFlags& engine,
                          EngineOptions options);

}  // namespace etch::cli
