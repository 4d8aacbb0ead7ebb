// What kernels.def says of the kernels over float32: norms, elementwise, attention and the like.
#pragma once

#include "kernels/describe.h"

namespace etch {}  // namespace etch
