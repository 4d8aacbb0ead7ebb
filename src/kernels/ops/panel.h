// Products of many columns (prefill).
#pragma once

#include "kernels/ops/reference.h"

namespace etch::ETCH_ISA {

template <class F>
static void panel(const void* args, const etch_thread* thread, int64_t first, int64_t last) {
  reference_panel<F>(args, thread, first, last);
}

}  // namespace etch::ETCH_ISA
