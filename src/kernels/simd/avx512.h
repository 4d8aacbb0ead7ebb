// All words of avx512.
#pragma once

#include "kernels/simd/avx512_dot.h"
#if __has_include("kernels/simd/avx512_float.h")
#include "kernels/simd/avx512_float.h"
#endif
