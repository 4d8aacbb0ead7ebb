// All words of scalar.
#pragma once

#include "kernels/simd/scalar_dot.h"
#if __has_include("kernels/simd/scalar_float.h")
#include "kernels/simd/scalar_float.h"
#endif
