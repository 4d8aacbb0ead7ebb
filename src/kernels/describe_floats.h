// What kernels.def says of the kernels over float32: norms, elementwise, attention and the like.
#pragma once

#include "kernels/describe.h"

namespace etch {

etch_kernel describe_embed(DType table);
etch_kernel describe_norm();
etch_kernel describe_elementwise();
etch_kernel describe_rotary();
etch_kernel describe_rope();
etch_kernel describe_append(KvType kv);
etch_kernel describe_attend(KvType kv);
etch_kernel describe_attend_step();
etch_kernel describe_attend_merge();
etch_kernel describe_route();
etch_kernel describe_mix();
etch_kernel describe_gather();
etch_kernel describe_wire_matmul();

}  // namespace etch
