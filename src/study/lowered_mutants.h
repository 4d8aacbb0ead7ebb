// Mutants of a plan: one call is wrong, as a mistake in lowering, planning or printing could make
// it. Each must be refused by the checks of plans, or noticed when it runs; what is not shows a
// hole in them. (mutants.h has those of circuits.)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lowered/lowered.h"

namespace etch {

enum class MutantKind : uint8_t {
  other_buffer,      // an operand stands in another buffer of the same memory
  other_kernel,      // another kernel that takes the same arguments, another elementwise operation
  swapped_operands,  // two operands change places
  missing_barrier,
  other_layer,  // the weight or the state of another layer
};
constexpr int kMutantKinds = 5;
std::string_view name(MutantKind kind);

struct LoweredMutant {
  MutantKind kind = MutantKind::other_buffer;
  bool prefill = false;
  int32_t number = -1;  // of the call, in its list
  Call call;            // as it is now
  std::string description;
};

// `n` different ones, a fifth of each kind, drawn from all there are. In half of them the list of
// what the call touches is changed with it, as if the mistake was made before that list. Edits
// that change nothing are not drawn: sums and products whose terms change places.
std::vector<LoweredMutant> draw_lowered_mutants(const Lowered& lowered, int n, uint64_t seed);

Lowered with_mutant(const Lowered& lowered, const LoweredMutant& mutant);

}  // namespace etch
