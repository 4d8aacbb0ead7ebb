// etch VERB FILE...: finds the verb, reads its options, runs it, and says what went wrong.
#include <algorithm>
#include <csignal>

#include "circuit/diagnostics.h"
#include "cli/parser.h"
#include "cli/render.h"
#include "cli/verb.h"

namespace etch::cli {

std::span<const Verb> all_verbs() {
  static const Verb verbs[] = {
#define VERB(name, summary) {#name, summary, setup_##name},
#include "cli/verbs.def"
#undef VERB
  };
  return verbs;
}

namespace {

std::string help() {
  std::string text =
      "etch reads a GGUF model, wires it as the circuit of its architecture says, and runs it.\n\n"
      "Examples:\n"
      "  etch run model.gguf -p \"Why is the sky blue?\"\n"
      "  etch inspect model.gguf\n"
      "  etch bench model.gguf -t 4\n\n"
      "Usage: etch VERB FILE... [options]\n\n";
  std::vector<std::vector<std::string>> rows;
  for (const Verb& v : all_verbs())
    rows.push_back({"  " + std::string(v.name), std::string(v.summary)});
  text += table(rows, "ll");
  text +=
      "\n`etch VERB --help` has the options of a verb. Results go to standard output, all else to "
      "standard\n"
      "error. Exit codes: 0 done, 1 the answer is no, 2 usage, 3 damaged input, 4 unsupported, 5 "
      "I/O or\n"
      "resources, 6 internal error.\n";
  return text;
}

const Verb* find_verb(std::string_view name) {
  const auto verbs = all_verbs();
  const auto v =
      std::find_if(verbs.begin(), verbs.end(), [&](const Verb& x) { return x.name == name; });
  return v == verbs.end() ? nullptr : &*v;
}

Error unknown_verb(std::string_view name) {
  std::vector<std::string_view> names;
  std::string all;
  for (const Verb& v : all_verbs()) {
    names.push_back(v.name);
    all += " " + std::string(v.name);
  }
  return {ErrorKind::usage, fmt::format("there is no verb '{}'{}\n  the verbs are{}", name,
                                        suggestion(name, names), all)};
}

int finish(const Result<int>& result) {
  if (result) return *result;
  print_error(result.error());
  return static_cast<int>(result.error().kind);
}

int run_verb(const Verb& verb, int argc, char** argv) {
  Parser parser(verb.name);
  const Action action = verb.setup(parser);
  const Result<bool> parsed = parser.parse(argc, argv);
  if (!parsed) return finish(tl::unexpected(parsed.error()));
  if (!*parsed) return finish(put(parser.help()).map([] { return 0; }));
  return finish(action());
}

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone is seen where we write (put)
  const std::string_view word = argc > 1 ? argv[1] : "";
  if (word.empty()) {
    fmt::print(stderr, "{}", help());
    return static_cast<int>(ErrorKind::usage);
  }
  if (word == "help" && argc > 2) {
    const Verb* verb = find_verb(argv[2]);
    char help_flag[] = "--help";
    char* help_argv[] = {argv[0], help_flag};
    return verb ? run_verb(*verb, 2, help_argv) : finish(tl::unexpected(unknown_verb(argv[2])));
  }
  if (word == "help" || word == "--help" || word == "-h")
    return finish(put(help()).map([] { return 0; }));
  if (word == "--version") return finish(put("etch " ETCH_VERSION "\n").map([] { return 0; }));
  const Verb* verb = find_verb(word);
  if (!verb) return finish(tl::unexpected(unknown_verb(word)));
  return run_verb(*verb, argc - 1, argv + 1);
}

}  // namespace
}  // namespace etch::cli

int main(int argc, char** argv) { return etch::cli::main(argc, argv); }
