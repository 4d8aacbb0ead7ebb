// The float words of AVX-512 serve the set with VNNI too.
#pragma once

#include "kernels/simd/avx512_float.h"

namespace etch::avx512_vnni {
using floats = avx512_float;
}
