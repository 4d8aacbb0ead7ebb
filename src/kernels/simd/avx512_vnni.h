// All words of avx512_vnni.
#pragma once

#include "kernels/simd/avx512_vnni_dot.h"
#include "kernels/simd/avx512_vnni_float.h"
