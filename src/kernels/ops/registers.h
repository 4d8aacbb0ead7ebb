// Products of a few columns (decode and up to some 16 rows).
#pragma once

#include "kernels/ops/reference.h"

namespace etch::ETCH_ISA {

template <class F>
static void registers(const void* args, const etch_thread* thread, int64_t first, int64_t last) {
  reference_registers<F>(args, thread, first, last);
}

}  // namespace etch::ETCH_ISA
