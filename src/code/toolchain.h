// The C compiler of this machine, and what it needs to make a library of a printed model: the
// header and the kernel archive, which are installed beside the binary in ../lib/etch.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace etch {

struct Toolchain {
  std::string compiler;                    // "/usr/bin/cc"
  std::string version;                     // the first line of its --version
  std::filesystem::path include;           // holds etch/model_abi.h
  std::filesystem::path archive;           // libetch_abi.a
  std::filesystem::path program;           // program.o: what a program has beside the model
  std::vector<std::string> compile_flags;  // of model.c
  std::vector<std::string> link_flags;     // of libmodel.so
};

struct ToolchainOptions {
  std::string compiler;       // name or path; "": cc, gcc or clang, whichever is there
  std::filesystem::path lib;  // "": ../lib/etch beside the running binary
  bool for_program = false;   // program.o must be there too
};
Result<Toolchain> find_toolchain(const ToolchainOptions& options = {});

// Compiles DIR/model.c into DIR/libmodel.so. What the compiler says is the error, with the command.
Status build_library(const std::filesystem::path& directory, const Toolchain& toolchain);

// Compiles DIR/model.c into DIR/program, which still lacks the section .gguf with the model's file.
Status build_program(const std::filesystem::path& directory, const Toolchain& toolchain);

// Runs a program and gathers what it prints; the error holds both and the command line.
Result<std::string> run_program(const std::vector<std::string>& command);

}  // namespace etch
