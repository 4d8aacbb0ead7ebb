// print_c(): the calls of a plan as C that reads as if written for this one model: one function for
// each kind of layer, a table of file offsets, loops over layers, a comment on every call. The C
// makes the same calls with the same arguments as the executor, so it gives the same bits; it has
// no arithmetic on numbers of its own. The same plan and options give the same text.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "code/code_options.h"
#include "lowered/lowered.h"

namespace etch {

// Fails for plans that only this process can run: weights in memory, hand-made inputs.
Result<std::string> print_c(const Lowered& lowered, const CodeOptions& options);
// What a program includes to use the library.
Result<std::string> print_h(const Lowered& lowered, const CodeOptions& options);

// A number that two plans share only if they make the same calls on the same memory; the library
// carries that of the plan it was printed from.
uint64_t plan_hash(const Lowered& lowered);

}  // namespace etch
