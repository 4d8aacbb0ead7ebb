// etch compile: a model as C, a library of it, and a directory of what there is to know about it.
#include <filesystem>
#include <memory>

#include "base/directory.h"
#include "base/elf_section.h"
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
  std::string model, output, compiler;
  EngineFlags engine;
  bool force = false, no_build = false, exe = false;
};

struct Source {
  std::shared_ptr<const Model> model;
  EngineOptions options;
  Compiled compiled;
  std::unique_ptr<Tokenizer> tokenizer;  // null: the model has none that etch reads
  CodeOptions names;
};

// --force replaces what etch compile has made, and nothing else.
Status check_target(const Flags& flags) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(flags.output, ignored))) return {};
  if (!flags.force) {
    return fail(ErrorKind::usage, "{} is there already\n  --force replaces it", flags.output);
  }
  if (!fs::exists(fs::path(flags.output) / "manifest.json", ignored) &&
      !(fs::is_directory(flags.output, ignored) && fs::is_empty(flags.output, ignored))) {
    return fail(
        ErrorKind::usage,
        "{} is no compiled model: it has no manifest.json\n  etch replaces only what it has "
        "made; choose another name",
        flags.output);
  }
  return {};
}

// A program is replaced if asked for; a directory is not a program, nor is the model.
Status check_program_target(const Flags& flags) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(flags.output, ignored))) return {};
  if (fs::equivalent(flags.output, flags.model, ignored))
    return fail(ErrorKind::usage, "{} is the model itself; choose another name", flags.output);
  if (!flags.force)
    return fail(ErrorKind::usage, "{} is there already\n  --force replaces it", flags.output);
  if (!fs::is_regular_file(flags.output, ignored))
    return fail(ErrorKind::usage, "{} is no file; choose another name", flags.output);
  return {};
}

Result<Source> read_source(const Flags& flags) {
  Source s;
  s.options = ETCH_TRY(engine_options(flags.engine));
  s.model = std::make_shared<const Model>(ETCH_TRY(read_model(flags.model).context(flags.model)));
  s.compiled = ETCH_TRY(compile_for(s.model, s.options).context(flags.model));
  for (const std::string& w : s.compiled.warnings) print_warning(w);
  auto tokenizer = make_tokenizer(*s.model);
  if (tokenizer) {
    s.tokenizer = std::move(*tokenizer);
  } else if (flags.exe) {
    return fail(tokenizer.error().kind,
                "{}: {}\n  a program answers text; without --exe the library takes token ids",
                flags.model, tokenizer.error().message);
  } else {
    print_warning(tokenizer.error().message + "\n  the library takes token ids");
  }
  s.names = ETCH_TRY(code_options_of(s.compiled, ETCH_VERSION).context(flags.model));
  return s;
}

Result<int> make_directory(const Flags& flags) {
  ETCH_TRY(check_target(flags));
  // What is missing is said before anything is computed.
  std::optional<Toolchain> toolchain;
  if (!flags.no_build)
    toolchain = ETCH_TRY(find_toolchain({.compiler = flags.compiler, .lib = ""}));

  constexpr int64_t kSteps = 5;
  int64_t step = 0;
  Progress progress("compile: step", kSteps);
  const auto next = [&] { progress.update(++step); };
  const Source made = ETCH_TRY(read_source(flags));
  const Lowered& lowered = *made.compiled.lowered;
  next();
  const SidecarSource source = {.compiled = &made.compiled,
                                .options = &made.options,
                                .tokenizer = made.tokenizer.get(),
                                .model_path = flags.model};
  DirectoryWriter out = ETCH_TRY(DirectoryWriter::create(flags.output, flags.force));
  std::vector<Artefact> files;
  files.push_back({"model.c", ETCH_TRY(print_c(lowered, made.names).context(flags.model))});
  files.push_back({"model.h", ETCH_TRY(print_h(lowered, made.names).context(flags.model))});
  for (const Artefact& f : files) ETCH_TRY(out.write(f.name, f.bytes));
  next();
  BuildRecord build;
  if (toolchain) {
    ETCH_TRY(build_library(out.temporary(), *toolchain));
    const std::string path = out.temporary() + "/libmodel.so";
    ETCH_TRY(ETCH_TRY(Library::open(path))->check(lowered));
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

Result<int> make_program(const Flags& flags) {
  ETCH_TRY(check_program_target(flags));
  const Toolchain toolchain =
      ETCH_TRY(find_toolchain({.compiler = flags.compiler, .lib = "", .for_program = true}));
  const Source made = ETCH_TRY(read_source(flags));
  // A place to work in, which goes away.
  const DirectoryWriter work = ETCH_TRY(DirectoryWriter::create(flags.output, true));
  const std::string program = work.temporary() + "/program";
  ETCH_TRY(write_file(work.temporary() + "/model.c",
                      ETCH_TRY(print_c(*made.compiled.lowered, made.names).context(flags.model))));
  ETCH_TRY(build_program(work.temporary(), toolchain));
  ETCH_TRY(append_section(program, ".gguf", flags.model));
  ETCH_TRY(replace_file(program, flags.output));
  return 0;
}

Result<int> compile_model(const Flags& flags) {
  if (!flags.exe) return make_directory(flags);
  if (flags.no_build)
    return fail(ErrorKind::usage, "--no-build stops before the compiler, which makes the program");
  return make_program(flags);
}

}  // namespace

Action setup_compile(Parser& parser) {
  parser.describe(
      "Prints a model as C, compiles it to libmodel.so, and writes both into a directory with all\n"
      "there is to know of it. `etch run DIR` and any C program can use it, with the GGUF beside\n"
      "it. With --exe it makes one program instead, weights inside, that answers by itself.",
      "  etch compile model.gguf -o smollm2\n"
      "  etch run smollm2 -p \"Why is the sky blue?\"\n"
      "  etch compile model.gguf -o smollm2 --force --ctx 8192 -t 8\n"
      "  etch compile model.gguf -o smollm2 --no-build\n"
      "  etch compile model.gguf --exe -o smollm2 && ./smollm2 -p \"Why is the sky blue?\"");
  auto flags = std::make_shared<Flags>();
  parser.text("model", flags->model, "FILE", "GGUF file");
  parser.require("model");
  parser.text("-o,--output", flags->output, "DIR", "directory to make (--exe: program)");
  parser.require("--output");
  parser.flag("--exe", flags->exe, "make a program with the weights inside");
  parser.flag("--force", flags->force, "replace what etch compile has made");
  parser.flag("--no-build", flags->no_build, "stop before the compiler: no libmodel.so");
  parser.text("--cc", flags->compiler, "NAME", "C compiler (default: cc, gcc or clang)");
  add_engine_options(parser, flags->engine);
  return [flags] { return compile_model(*flags); };
}

}  // namespace etch::cli
