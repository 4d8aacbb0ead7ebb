// All words of scalar.
#pragma once

#include "kernels/simd/scalar_dot.h"
#include "kernels/simd/scalar_float.h"
