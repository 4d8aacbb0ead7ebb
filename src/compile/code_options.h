// What the printed C of a compiled model says beside its calls: names of dims, parts and tensors.
#pragma once

#include <string>

#include "base/result.h"
#include "code/code_options.h"
#include "compile/compile.h"

namespace etch {

// Fails for files that a library cannot use where they lie: of the other byte order, or in parts.
Result<CodeOptions> code_options_of(const Compiled& compiled, std::string etch_version);

}  // namespace etch
