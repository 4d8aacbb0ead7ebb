#pragma once

#include "kernels/simd/scalar_dot.h"
