// All words of avx512.
#pragma once

#include "kernels/simd/avx512_dot.h"
#include "kernels/simd/avx512_float.h"
