// The engine options of options.def on a command line, and what they make of an engine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"

namespace etch::cli {

class Parser;

struct EngineFlags {
  using Number = int64_t;
  using Text = std::string;
  using Names = std::vector<std::string>;
#define OPTION(member, spelling, type, help) type member{};
#define FLAG(member, spelling, help) bool member = false;
#include "cli/options.def"
};

void add_engine_options(Parser& parser, EngineFlags& flags);
Result<EngineOptions> engine_options(const EngineFlags& flags);

// Circuits of the user: $XDG_CONFIG_HOME/etch/circuits, else ~/.config/etch/circuits; "" without a
// home.
std::string user_circuit_folder();
constexpr const char* kSystemCircuits = "/usr/share/etch/circuits";

}  // namespace etch::cli
