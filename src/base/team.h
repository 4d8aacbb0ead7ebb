// The threads that run steps: etch_team of model_abi.h, and how many of them a machine really
// offers.
//
// A team is a fixed number of threads that live as long as it does; the one that calls
// etch_team_run is thread 0. Waiting (for work, at a barrier) spins for some 30 microseconds,
// because the next piece of a step is nearly always there by then, and afterwards sleeps in the
// kernel, so that a paused or oversubscribed program burns nothing.
#pragma once

#include <cstdint>
#include <string>

#include "etch/model_abi.h"

namespace etch {

// What this process may really use: the CPUs of its affinity mask, counted as physical cores (two
// hyper-threads share the units that kernels keep busy), but no more than the CPU quota of its
// cgroups (rounded up). At least 1.
int32_t usable_threads();

// The parts, for tests; `root` is prepended to /sys and /proc.
int32_t physical_cores(const std::string& root, const uint64_t* cpus, int32_t n_words);
// CPUs granted by the cgroup quotas on the way from this process' group to the top; 0: unlimited.
double cgroup_cpus(const std::string& root);

}  // namespace etch
