// What kernels.def says of quantising and multiplying: each function describes one kernel of its
// kind (all but its name and functions, which registry.cc fills in).
#pragma once

#include "kernels/kernel.h"

namespace etch {

// Rows a call works on.
int64_t count_rows(const etch_rows& rows, const etch_thread* thread);

etch_kernel describe_quantize(Representation output);
etch_kernel describe_norm_quantize(Representation output);
etch_kernel describe_registers(DType weight);
etch_kernel describe_panel(DType weight);
etch_kernel describe_float_matmul(DType weight);
etch_kernel describe_expert_matmul(DType weight);
etch_kernel describe_expert_order();

}  // namespace etch
