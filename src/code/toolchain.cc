#include "code/toolchain.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

extern char** environ;

namespace etch {
namespace {

namespace fs = std::filesystem;

std::string command_line(const std::vector<std::string>& command) {
  std::string line;
  for (const std::string& word : command) {
    const bool plain =
        !word.empty() && word.find_first_of(" \t\n'\"\\$`&|;<>()*?[]#~{}!") == std::string::npos;
    if (!line.empty()) line += ' ';
    if (plain) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

Result<fs::path> folder_of_binary() {
  std::error_code problem;
  const fs::path binary = fs::read_symlink("/proc/self/exe", problem);
  if (problem) {
    return fail(ErrorKind::resources,
                "/proc/self/exe cannot be read: {}\n  it tells where etch is "
                "installed",
                problem.message());
  }
  return binary.parent_path();
}

// Reads until everybody has closed the other end.
std::string read_all(int fd) {
  std::string all;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t n = read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return all;
    all.append(buffer.data(), static_cast<size_t>(n));
  }
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

Result<std::string> run_program(const std::vector<std::string>& command) {
  int ends[2];
  if (pipe(ends) != 0) return fail(ErrorKind::resources, "no pipe: {}", std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t child = 0;
  const int problem = posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (problem != 0) {
    close(ends[0]);
    return fail(ErrorKind::resources, "cannot run {}: {}", command[0], std::strerror(problem));
  }
  std::string output = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return output;
  while (output.ends_with('\n')) output.pop_back();
  return fail(ErrorKind::resources, "{} {} {}\n  the command was\n  {}\n{}", command[0],
              WIFEXITED(status) ? "failed with exit code" : "was ended by signal",
              WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), command_line(command),
              output);
}

Result<Toolchain> find_toolchain(const ToolchainOptions& options) {
  Toolchain t;
  const fs::path lib =
      options.lib.empty() ? ETCH_TRY(folder_of_binary()) / ".." / "lib" / "etch" : options.lib;
  t.include = lib / "include";
  t.archive = lib / "libetch_abi.a";
  t.program = lib / "program.o";
  std::vector<fs::path> needed = {t.include / "etch" / "model_abi.h", t.archive};
  if (options.for_program) needed.push_back(t.program);
  for (const fs::path& file : needed) {
    std::error_code ignored;
    if (!fs::exists(file, ignored)) {
      return fail(ErrorKind::resources,
                  "{} is missing\n  it belongs to etch and is installed with it; compiled models "
                  "are made of it\n  `etch run MODEL` works without",
                  file.lexically_normal().string());
    }
  }
  t.include = t.include.lexically_normal();
  t.archive = t.archive.lexically_normal();
  t.program = t.program.lexically_normal();

  const std::vector<std::string> names = options.compiler.empty()
                                             ? std::vector<std::string>{"cc", "gcc", "clang"}
                                             : std::vector<std::string>{options.compiler};
  for (const std::string& name : names) {
    const auto version = run_program({name, "--version"});
    if (!version) continue;
    t.compiler = name;
    t.version = first_line(*version);
    break;
  }
  if (t.compiler.empty()) {
    return fail(ErrorKind::resources,
                "there is no C compiler here{}\n  `etch compile` needs one (cc, gcc or clang) to "
                "make the library; --no-build stops before it\n  `etch run MODEL` works without "
                "one",
                options.compiler.empty() ? "" : " called " + options.compiler);
  }
  t.compile_flags = {"-std=c99", "-O2", "-fPIC", "-fvisibility=hidden"};
  // Of the archive nothing but what is used, none of it seen from outside.
  t.link_flags = {"-shared", "-Wl,--gc-sections", "-Wl,--exclude-libs,ALL", "-s"};
  // An etch that was built with sanitizers makes such libraries.
  if (const std::string_view sanitizers = ETCH_SANITIZERS; !sanitizers.empty()) {
    t.compile_flags.push_back(fmt::format("-fsanitize={}", sanitizers));
    t.link_flags.push_back(fmt::format("-fsanitize={}", sanitizers));
  } else {
    t.link_flags.emplace_back("-Wl,-z,defs");
  }
  return t;
}

namespace {

Status build(const fs::path& directory, const Toolchain& t, const std::vector<std::string>& objects,
             const std::vector<std::string>& link_flags, const char* output) {
  std::vector<std::string> command = {t.compiler};
  const auto add = [&](const auto& words) {
    command.insert(command.end(), words.begin(), words.end());
  };
  add(t.compile_flags);
  command.push_back("-I" + t.include.string());
  command.push_back((directory / "model.c").string());
  add(objects);
  add(link_flags);
  for (const char* library : {"-lm", "-pthread"}) command.emplace_back(library);
  add(std::vector<std::string>{"-o", (directory / output).string()});
  ETCH_TRY(run_program(command).context("model.c"));
  return {};
}

}  // namespace

Status build_library(const fs::path& directory, const Toolchain& t) {
  return build(directory, t, {t.archive.string()}, t.link_flags, "libmodel.so");
}

Status build_program(const fs::path& directory, const Toolchain& t) {
  std::vector<std::string> flags = {"-static-libgcc", "-Wl,--gc-sections", "-s"};
  for (const std::string& flag : t.link_flags)
    if (flag.starts_with("-fsanitize=")) flags.push_back(flag);
  return build(directory, t, {t.program.string(), t.archive.string()}, flags, "program");
}

}  // namespace etch
