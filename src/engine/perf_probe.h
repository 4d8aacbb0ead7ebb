// What this machine can do at best, measured now: how fast it reads memory, how many int8 products
// it forms. A benchmark compares itself with these in the same run, because machines (and hosts of
// virtual ones) change their speed from minute to minute.
#pragma once

#include <cstdint>
#include <span>

#include "etch/model_abi.h"

namespace etch {

// Bytes per second of a plain loop of wide loads over `bytes`, shared out among the threads, for
// about `seconds`.
double measure_read(std::span<const uint8_t> bytes, etch_team* team, double seconds);

// int8 multiply-adds per second of the widest dot product of that instruction set on registers
// alone.
double measure_int8_peak(etch_isa isa, etch_team* team, double seconds);

}  // namespace etch
