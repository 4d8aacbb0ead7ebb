// All words of avx2.
#pragma once

#include "kernels/simd/avx2_dot.h"
#if __has_include("kernels/simd/avx2_float.h")
#include "kernels/simd/avx2_float.h"
#endif
