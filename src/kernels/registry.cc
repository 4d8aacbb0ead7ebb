// The table of kernels, from kernels.def.
#include <iterator>

#include "kernels/entry.h"

extern "C" {
#define DECLARE(name, isa) \
  void etch_k_##name##_##isa(const void*, const etch_thread*, int64_t, int64_t);
#define KERNEL(name, headers, function, ...) ETCH_FOR_EVERY_ISA(DECLARE, name)
#define FLOATS(name, headers, function, ...) ETCH_FOR_FLOATS(DECLARE, name)
#include "kernels/kernels.def"
#undef FLOATS
#undef KERNEL
#undef DECLARE
}

namespace etch {

std::span<const etch_kernel> all_kernels() {
  static constexpr etch_kernel kernels[] = {
#define FUNCTION(name, isa) etch_k_##name##_##isa,
#define KERNEL(name, headers, function, ...) \
  named(__VA_ARGS__, #name, {ETCH_FOR_EVERY_ISA(FUNCTION, name)}),
#define FLOATS(name, headers, function, ...) \
  named(__VA_ARGS__, #name, {ETCH_FOR_FLOATS(FUNCTION, name)}),
#include "kernels/kernels.def"
#undef FLOATS
#undef KERNEL
#undef FUNCTION
  };
  return kernels;
}

const etch_kernel* find_kernel(std::string_view name) {
  for (const etch_kernel& k : all_kernels())
    if (k.name == name) return &k;
  return nullptr;
}

std::string_view name(Representation r) {
  constexpr std::string_view kNames[] = {"f32",    "i32",          "q8_32",
                                         "q8_256", "q8_32_packed", "q8_256_packed"};
  return kNames[static_cast<size_t>(r)];
}

namespace {
constexpr std::string_view kKvNames[] = {"f16", "f32", "bf16", "q8_0"};
}
std::string_view name(KvType t) { return kKvNames[static_cast<size_t>(t)]; }
std::optional<KvType> kv_type_of_name(std::string_view name) {
  for (size_t i = 0; i < std::size(kKvNames); ++i)
    if (kKvNames[i] == name) return static_cast<KvType>(i);
  return std::nullopt;
}

}  // namespace etch
