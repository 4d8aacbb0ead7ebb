// All words of avx2.
#pragma once

#include "kernels/simd/avx2_dot.h"
#include "kernels/simd/avx2_float.h"
