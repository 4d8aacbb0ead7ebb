// Blocks of a big-endian file to little endian and back: each field of more than one byte is turned
// on its own.
#pragma once

#include <cstdint>

#include "dtypes/dtype.h"

namespace etch {

void swap_block_bytes(DType dtype, uint8_t* blocks, int64_t bytes);

// Whether some other program has been seen to write this type in big-endian order. For the rest the
// fields follow from their declared types alone.
bool is_big_endian_proven(DType dtype);

}  // namespace etch
