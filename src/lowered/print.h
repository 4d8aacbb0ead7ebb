// A plan as text (plan.txt) and as JSON (lowered.json). Both are stable: they hold no times and no
// addresses of this run.
#pragma once

#include <string>

#include "lowered/lowered.h"

namespace etch {

// One line a call:
//   12 | matmul_q4_1_registers [items] blk.0.attn_q.weight  x=h:0  y=q:1536 ... | q = linear(h,
//   attn_q)
std::string print(const Lowered& lowered);
std::string print_call(const Lowered& lowered, const Call& call);
std::string print_json(const Lowered& lowered);

}  // namespace etch
