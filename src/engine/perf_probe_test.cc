#include "engine/perf_probe.h"

#include <gtest/gtest.h>

#include <vector>

#include "lowered/lowered.h"

namespace etch {
namespace {

TEST(PerfProbe, reads_and_multiplies_at_plausible_rates) {
  const std::vector<uint8_t> bytes(16 << 20, 1);
  etch_team* team = etch_team_create(1);
  const double read = measure_read(bytes, team, 0.02);
  EXPECT_GT(read, 1e8);
  EXPECT_LT(read, 1e13);
  double slower = 0;
  for (const etch_isa isa : {ETCH_SCALAR, ETCH_AVX2, ETCH_AVX512, ETCH_AVX512_VNNI}) {
    if (!cpu_has(isa)) continue;
    const double peak = measure_int8_peak(isa, team, 0.02);
    EXPECT_GT(peak, 1e8) << isa_name(isa);
    EXPECT_GT(peak, slower / 2) << isa_name(isa) << " against the narrower one";
    slower = peak;
  }
  etch_team_destroy(team);
}

}  // namespace
}  // namespace etch
