// Which instruction sets this processor has. The compiler's own check also asks whether the
// operating system keeps the wide registers.
#include "kernels/kernel.h"

namespace etch {

bool cpu_has(etch_isa isa) {
  if (isa == ETCH_SCALAR) return true;
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c");
  if (isa == ETCH_AVX2) return avx2;
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (isa == ETCH_AVX512) return avx512;
  if (isa == ETCH_AVX512_VNNI) return avx512 && __builtin_cpu_supports("avx512vnni");
#endif
  return false;
}

etch_isa best_isa() {
  int best = ETCH_SCALAR;
  for (int isa = ETCH_SCALAR; isa < ETCH_ISA_COUNT; ++isa)
    if (cpu_has(static_cast<etch_isa>(isa))) best = isa;
  return static_cast<etch_isa>(best);
}

namespace {
constexpr std::string_view kNames[] = {
#define ISA(name, ...) #name,
#include "kernels/isa.def"
#undef ISA
};
static_assert(std::size(kNames) == ETCH_ISA_COUNT);
}  // namespace

std::string_view isa_name(etch_isa isa) { return kNames[isa]; }

std::optional<etch_isa> isa_of_name(std::string_view name) {
  for (int isa = 0; isa < ETCH_ISA_COUNT; ++isa)
    if (kNames[isa] == name) return static_cast<etch_isa>(isa);
  return std::nullopt;
}

}  // namespace etch

etch_isa etch_best_isa() { return etch::best_isa(); }
int32_t etch_has_isa(etch_isa isa) {
  return isa >= ETCH_SCALAR && isa < ETCH_ISA_COUNT && etch::cpu_has(isa) ? 1 : 0;
}
const char* etch_isa_name(etch_isa isa) { return etch::kNames[isa].data(); }
