// etch verify DIR: is a sidecar what its manifest says, does its model still give what it gave?
#pragma once

#include <string>

#include "base/result.h"
#include "engine/engine.h"
#include "study/verify_report.h"

namespace etch {

// `model`: where the GGUF file is, "" to look for it. Of `options` only the session's count: limits
// and circuit are the sidecar's.
Result<VerifyReport> verify_sidecar(const std::string& directory, const std::string& model,
                                    const EngineOptions& options);

bool is_sidecar(const std::string& path);  // a directory

}  // namespace etch
