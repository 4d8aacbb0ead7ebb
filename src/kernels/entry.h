// An entry of the registry: what kernels.def says of a kernel, with its name and its function for
// every instruction set. Read by registry.cc, which has all of them, and by the units made from
// entry.cc.in, which have one each.
#pragma once

#include <initializer_list>
#include <string_view>

#include "kernels/describe.h"
#include "kernels/describe_floats.h"
#include "kernels/kernel.h"

#if defined(__x86_64__)
#define ETCH_FOR_EVERY_ISA(X, name) \
  X(name, scalar) X(name, avx2) X(name, avx512) X(name, avx512_vnni)
// Without integer dots: avx512_vnni takes avx512's.
#define ETCH_FOR_FLOATS(X, name) X(name, scalar) X(name, avx2) X(name, avx512) X(name, avx512)
#else
#define ETCH_FOR_EVERY_ISA(X, name) X(name, scalar)
#define ETCH_FOR_FLOATS(X, name) X(name, scalar)
#endif

namespace etch {

constexpr etch_kernel named(etch_kernel kernel, std::string_view name,
                            std::initializer_list<etch_kernel_fn> functions) {
  kernel.name = name;
  int isa = 0;
  for (const etch_kernel_fn f : functions) kernel.fn[isa++] = f;
  return kernel;
}

}  // namespace etch
