#include "cli/engine_options.h"

#include <algorithm>
#include <cstdlib>

#include "cli/parser.h"
#include "compile/compile.h"

namespace etch::cli {
namespace {

void add(Parser& parser, const char* spelling, int64_t& value, const char* help) {
  parser.number(spelling, value, help, 1);
}
void add(Parser& parser, const char* spelling, std::string& value, const char* help) {
  parser.text(spelling, value, "NAME", help);
}
void add(Parser& parser, const char* spelling, std::vector<std::string>& values, const char* help) {
  parser.texts(spelling, values, "PASS,...", help, ',');
}

std::string joined(const auto& names) {
  std::string all;
  for (const auto& n : names) all += (all.empty() ? "" : ", ") + std::string(n);
  return all;
}

}  // namespace

void add_engine_options(Parser& parser, EngineFlags& flags) {
  parser.group("Engine options");
#define OPTION(member, spelling, type, help) add(parser, spelling, flags.member, help);
#define FLAG(member, spelling, help) parser.flag(spelling, flags.member, help);
#include "cli/options.def"
}

std::string user_circuit_folder() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  if (config && *config) return std::string(config) + "/etch/circuits";
  const char* home = std::getenv("HOME");
  return home && *home ? std::string(home) + "/.config/etch/circuits" : "";
}

Result<EngineOptions> engine_options(const EngineFlags& flags) {
  EngineOptions o;
  o.compile.circuit = flags.circuit;
  o.compile.user_circuits = user_circuit_folder();
  o.compile.system_circuits = kSystemCircuits;
  o.compile.strict = flags.strict;
  o.compile.without = {flags.without.begin(), flags.without.end()};
  o.compile.limits.n_ctx = flags.ctx;
  o.compile.limits.n_rows = flags.ubatch;
  o.session.guard = flags.guard;
  if (flags.threads > 256)
    return fail(ErrorKind::usage, "--threads {}: at most 256", flags.threads);
  o.session.n_threads = static_cast<int32_t>(flags.threads);
  if (flags.ubatch > 16384)
    return fail(ErrorKind::usage, "--ubatch {}: at most 16384", flags.ubatch);
  if (!flags.kv.empty()) {
    const auto kv = kv_type_of_name(flags.kv);
    if (!kv) return fail(ErrorKind::usage, "--kv {}: expected f16, f32, bf16 or q8_0", flags.kv);
    o.compile.limits.kv = *kv;
  }
  if (!flags.isa.empty()) {
    o.session.isa = isa_of_name(flags.isa);
    if (!o.session.isa) {
      return fail(ErrorKind::usage, "--isa {}: expected scalar, avx2, avx512 or avx512_vnni",
                  flags.isa);
    }
  }
  const std::vector<std::string> passes = pass_names();
  for (const std::string& name : flags.without) {
    if (std::find(passes.begin(), passes.end(), name) == passes.end()) {
      return fail(ErrorKind::usage, "--without {}: there is no such pass\n  the passes are {}",
                  name, joined(passes));
    }
  }
  return o;
}

}  // namespace etch::cli
