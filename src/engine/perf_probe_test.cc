#include "engine/perf_probe.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "lowered/lowered.h"

namespace etch {
namespace {

// How fast is the machine's affair, and that of whoever shares it.
TEST(PerfProbe, gives_a_rate_for_reading_and_for_each_instruction_set) {
  const std::vector<uint8_t> bytes(16 << 20, 1);
  etch_team* team = etch_team_create(1);
  const double read = measure_read(bytes, team, 0.02);
  EXPECT_TRUE(std::isfinite(read) && read > 0) << read;
  for (const etch_isa isa : {ETCH_SCALAR, ETCH_AVX2, ETCH_AVX512, ETCH_AVX512_VNNI}) {
    if (!cpu_has(isa)) continue;
    const double peak = measure_int8_peak(isa, team, 0.02);
    EXPECT_TRUE(std::isfinite(peak) && peak > 0) << isa_name(isa) << ": " << peak;
  }
  etch_team_destroy(team);
}

}  // namespace
}  // namespace etch
