// etch compile: a model as C, a library of it, and a directory of what there is to know about it.
#include <filesystem>
#include <memory>

#include "base/directory.h"
#include "base/file.h"
#include "cli/engine_options.h"
#include "cli/parser.h"
#include "cli/render.h"
#include "cli/verb.h"
#include "code/print_c.h"
#include "code/toolchain.h"
#include "compile/code_options.h"
#include "session/library.h"
#include "study/sidecar.h"

namespace etch::cli {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxLibraryBytes = int64_t{1} << 30;

struct Flags {
  std::string model, directory, compiler;
  EngineFlags engine;
  bool force = false, no_build = false;
};

// --force replaces what etch compile has made, and nothing else.
Status check_target(const Flags& flags) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(flags.directory, ignored))) return {};
  if (!flags.force) {
    return fail(ErrorKind::usage, "{} is there already\n  --force replaces it", flags.directory);
  }
  if (!fs::exists(fs::path(flags.directory) / "manifest.json", ignored) &&
      !(fs::is_directory(flags.directory, ignored) && fs::is_empty(flags.directory, ignored))) {
    return fail(
        ErrorKind::usage,
        "{} is no compiled model: it has no manifest.json\n  etch replaces only what it has "
        "made; choose another name",
        flags.directory);
  }
  return {};
}

Result<int> compile_model(const Flags& flags) {
  ETCH_TRY(check_target(flags));
  const EngineOptions options = ETCH_TRY(engine_options(flags.engine));
  // What is missing is said before anything is computed.
  std::optional<Toolchain> toolchain;
  if (!flags.no_build)
    toolchain = ETCH_TRY(find_toolchain({.compiler = flags.compiler, .lib = ""}));

  constexpr int64_t kSteps = 5;
  int64_t step = 0;
  Progress progress("compile: step", kSteps);
  const auto next = [&] { progress.update(++step); };
  const auto model =
      std::make_shared<const Model>(ETCH_TRY(read_model(flags.model).context(flags.model)));
  const Compiled compiled = ETCH_TRY(compile_for(model, options).context(flags.model));
  for (const std::string& w : compiled.warnings) print_warning(w);
  std::unique_ptr<Tokenizer> tokenizer;
  if (auto made = make_tokenizer(*model)) {
    tokenizer = std::move(*made);
  } else {
    print_warning(made.error().message + "\n  the library takes token ids");
  }
  next();

  const CodeOptions names = ETCH_TRY(code_options_of(compiled, ETCH_VERSION).context(flags.model));
  const SidecarSource source = {.compiled = &compiled,
                                .options = &options,
                                .tokenizer = tokenizer.get(),
                                .model_path = flags.model};
  DirectoryWriter out = ETCH_TRY(DirectoryWriter::create(flags.directory, flags.force));
  std::vector<Artefact> files;
  files.push_back({"model.c", ETCH_TRY(print_c(*compiled.lowered, names).context(flags.model))});
  files.push_back({"model.h", ETCH_TRY(print_h(*compiled.lowered, names).context(flags.model))});
  for (const Artefact& f : files) ETCH_TRY(out.write(f.name, f.bytes));
  next();
  BuildRecord build;
  if (toolchain) {
    ETCH_TRY(build_library(out.temporary(), *toolchain));
    const std::string path = out.temporary() + "/libmodel.so";
    ETCH_TRY(ETCH_TRY(Library::open(path))->check(*compiled.lowered));
    files.push_back({"libmodel.so", ETCH_TRY(read_file(path, kMaxLibraryBytes))});
    build = {.compiler = toolchain->version, .flags = toolchain->compile_flags};
  }
  next();
  for (Artefact& a : ETCH_TRY(make_artefacts(source))) {
    ETCH_TRY(out.write(a.name, a.bytes));
    files.push_back(std::move(a));
  }
  next();
  const Artefact manifest = ETCH_TRY(make_manifest(source, build, files));
  ETCH_TRY(out.write(manifest.name, manifest.bytes));
  ETCH_TRY(out.commit());
  next();
  return 0;
}

}  // namespace

Action setup_compile(Parser& parser) {
  parser.describe(
      "Prints a model as C, compiles it to libmodel.so, and writes both into a directory with all\n"
      "there is to know of it. `etch run DIR` and any C program can use it, with the GGUF beside "
      "it.",
      "  etch compile model.gguf -o smollm2\n"
      "  etch run smollm2 -p \"Why is the sky blue?\"\n"
      "  etch compile model.gguf -o smollm2 --force --ctx 8192 -t 8\n"
      "  etch compile model.gguf -o smollm2 --no-build");
  auto flags = std::make_shared<Flags>();
  parser.text("model", flags->model, "FILE", "GGUF file");
  parser.require("model");
  parser.text("-o,--output", flags->directory, "DIR", "directory to make");
  parser.require("--output");
  parser.flag("--force", flags->force, "replace a directory that etch compile has made");
  parser.flag("--no-build", flags->no_build, "stop before the compiler: no libmodel.so");
  parser.text("--cc", flags->compiler, "NAME", "C compiler (default: cc, gcc or clang)");
  add_engine_options(parser, flags->engine);
  return [flags] { return compile_model(*flags); };
}

}  // namespace etch::cli
