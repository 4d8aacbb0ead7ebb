#include "cli/load_model.h"

#include <algorithm>
#include <filesystem>

#include "cli/parser.h"
#include "session/library.h"
#include "study/sidecar.h"

namespace etch::cli {
namespace {

namespace fs = std::filesystem;

// A compiled model has its plan; options that would change it are refused rather than ignored.
Status check_flags(const EngineFlags& flags, const Limits& limits) {
  const auto fixed = [](std::string_view option, const std::string& as) {
    return fail(
        ErrorKind::usage,
        "{} was fixed when the model was compiled{}\n  `etch compile --force {} ...` makes it "
        "anew; `etch run MODEL` takes it at once",
        option, as, option);
  };
  if (flags.ctx != 0 && flags.ctx != limits.n_ctx)
    return fixed("--ctx", fmt::format(": {} positions", limits.n_ctx));
  if (flags.ubatch != 0 && flags.ubatch != limits.n_rows)
    return fixed("--ubatch", fmt::format(": {} rows", limits.n_rows));
  if (!flags.kv.empty() && flags.kv != name(limits.kv))
    return fixed("--kv", fmt::format(": {}", name(limits.kv)));
  if (!flags.circuit.empty()) return fixed("--circuit", "");
  if (!flags.without.empty()) return fixed("--without", "");
  if (flags.threads > limits.n_threads)
    return fixed("-t", fmt::format(": at most {} threads", limits.n_threads));
  return {};
}

Result<Engine> load_directory(const ModelFlags& flags, const EngineFlags& engine_flags,
                              EngineOptions options) {
  const Manifest manifest = ETCH_TRY(read_manifest(flags.model));
  ETCH_TRY(check_flags(engine_flags, manifest.limits));
  const std::string library = (fs::path(flags.model) / "libmodel.so").string();
  std::error_code ignored;
  if (!fs::exists(library, ignored)) {
    return fail(
        ErrorKind::resources,
        "{} has no libmodel.so: it was compiled with --no-build\n  compile it again on a machine "
        "with a C compiler, or run {}",
        flags.model, manifest.model_name);
  }
  ETCH_TRY(check_running_files(manifest, flags.model));
  options.session.library = ETCH_TRY(Library::open(library));
  const std::string path = ETCH_TRY(find_model(manifest, flags.model, flags.gguf));
  const auto model = std::make_shared<const Model>(ETCH_TRY(read_model(path).context(path)));
  ETCH_TRY(check_model(manifest, *model).context(path));
  options.compile = compile_options(manifest, flags.model);
  options.compile.strict = engine_flags.strict;
  return load_engine(model, options).context(flags.model);
}

}  // namespace

void add_model_options(Parser& parser, ModelFlags& flags) {
  parser.text("model", flags.model, "FILE", "GGUF file, or a directory made by `etch compile`");
  parser.require("model");
  parser.text("--model", flags.gguf, "FILE", "where the GGUF file of such a directory is");
}

Result<Engine> load_model(const ModelFlags& flags, const EngineFlags& engine,
                          EngineOptions options) {
  std::error_code ignored;
  if (fs::is_directory(flags.model, ignored))
    return load_directory(flags, engine, std::move(options));
  if (!flags.gguf.empty()) {
    return fail(ErrorKind::usage, "--model belongs to a compiled directory; {} is a file",
                flags.model);
  }
  return load_engine(flags.model, options).context(flags.model);
}

}  // namespace etch::cli
