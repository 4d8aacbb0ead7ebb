// The integer words of every instruction set against what scalar_words.h says of them.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "kernels/kernel.h"

extern "C" {
#define ISA(name, ...) int64_t etch_probe_##name(const uint8_t* in, bool any_sum, uint8_t* out);
#if defined(__x86_64__)
#include "kernels/isa.def"
#else
ISA(scalar, )
#endif
#undef ISA
}

namespace etch {
namespace {

using Probe = int64_t (*)(const uint8_t*, bool, uint8_t*);
const Probe kProbes[] = {
#define ISA(name, ...) etch_probe_##name,
#if defined(__x86_64__)
#include "kernels/isa.def"
#else
    ISA(scalar, )
#endif
#undef ISA
};

class Words : public testing::TestWithParam<int> {};

TEST_P(Words, give_the_bits_of_the_scalar_ones) {
  const auto isa = static_cast<etch_isa>(GetParam());
  if (!cpu_has(isa)) GTEST_SKIP() << "no " << isa_name(isa) << " here: its words are skipped";
  const size_t lanes = isa == ETCH_AVX2 ? 8 : 16;
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint8_t> in(4096), expected(1 << 14), out(1 << 14);
    for (uint8_t& byte : in) byte = static_cast<uint8_t>(random());
    for (int i = 0; i < 16; ++i) {  // sane floats
      const float x = static_cast<float>(static_cast<int32_t>(random())) * 0x1p-20f;
      std::memcpy(in.data() + 192 + 4 * i, &x, 4);
    }
    const bool any_sum = isa == ETCH_AVX512_VNNI;
    const int64_t bytes = etch_probe_scalar(in.data(), any_sum, expected.data());
    ASSERT_GT(bytes, 50 * 64);
    ASSERT_EQ(kProbes[isa](in.data(), any_sum, out.data()), bytes);
    for (int64_t word = 0; word < bytes / 64; ++word)
      for (size_t lane = 0; lane < lanes; ++lane)
        ASSERT_EQ(std::memcmp(&out[static_cast<size_t>(word) * 64 + 4 * lane],
                              &expected[static_cast<size_t>(word) * 64 + 4 * lane], 4),
                  0)
            << isa_name(isa) << ": word " << word << " of simd/probe.h, lane " << lane;
  }
}

INSTANTIATE_TEST_SUITE_P(isas, Words, testing::Range(1, static_cast<int>(std::size(kProbes))),
                         [](const auto& p) {
                           return std::string(isa_name(static_cast<etch_isa>(p.param)));
                         });

}  // namespace
}  // namespace etch
