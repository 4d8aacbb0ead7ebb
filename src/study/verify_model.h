// etch verify MODEL: what can be proved of a bare file. That it is whole is found by reading it;
// then binding, graph and plan are checked anew, and the same prompts must give the same bits in
// every way of running them.
#pragma once

#include <string>

#include "base/result.h"
#include "engine/engine.h"
#include "study/verify_report.h"

namespace etch {

// Errors are those of a file that cannot be read or run; what does not hold is in the report.
Result<VerifyReport> verify_model(const std::string& path, const EngineOptions& options);

// The static checks of a compiled model: graph, calls, races, lives of buffers.
void verify_plan(const Compiled& compiled, VerifyReport& report);

}  // namespace etch
