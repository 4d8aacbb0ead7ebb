#include "engine/perf_probe.h"

#include <algorithm>
#include <chrono>
#include <vector>

#if defined(__x86_64__)
#define ETCH_X86 1
#endif

namespace etch {
namespace {

using Clock = std::chrono::steady_clock;

// Repeats `round` on every thread until the time is up; gives rounds per second of all threads
// together.
template <class Round>
double rounds_per_second(etch_team* team, double seconds, const Round& round) {
  struct Shared {
    const Round* round;
    double seconds;
    std::vector<double> rates;
  } shared = {&round, seconds, std::vector<double>(static_cast<size_t>(etch_team_threads(team)))};
  etch_team_run(
      team,
      [](void* context, int32_t thread) {
        auto& s = *static_cast<Shared*>(context);
        const auto start = Clock::now();
        double elapsed = 0;
        int64_t n = 0;
        do {
          (*s.round)(thread);
          ++n;
          elapsed = std::chrono::duration<double>(Clock::now() - start).count();
        } while (elapsed < s.seconds);
        s.rates[static_cast<size_t>(thread)] = static_cast<double>(n) / elapsed;
      },
      &shared);
  double sum = 0;
  for (double r : shared.rates) sum += r;
  return sum;
}

using Wide = uint64_t __attribute__((vector_size(64), aligned(1), may_alias));

// Four loads at once, so that the xor of one does not wait for another.
template <class T>
[[gnu::always_inline]] inline void read_loop(const uint8_t* bytes, int64_t n) {
  const auto* p = reinterpret_cast<const T*>(bytes);
  T a = {}, b = {}, c = {}, d = {};
  for (int64_t i = 0; i + 4 <= n / static_cast<int64_t>(sizeof(T)); i += 4) {
    a ^= p[i];
    b ^= p[i + 1];
    c ^= p[i + 2];
    d ^= p[i + 3];
  }
  a ^= b ^ c ^ d;
  asm volatile("" : : "m"(a));
}

#ifdef ETCH_X86
[[gnu::target("avx512f")]] void read_512(const uint8_t* p, int64_t n) { read_loop<Wide>(p, n); }
using Half = uint64_t __attribute__((vector_size(32), aligned(1), may_alias));
[[gnu::target("avx2")]] void read_256(const uint8_t* p, int64_t n) { read_loop<Half>(p, n); }
#endif
using Quarter = uint64_t __attribute__((vector_size(16), aligned(1), may_alias));
void read_128(const uint8_t* p, int64_t n) { read_loop<Quarter>(p, n); }

auto widest_read() {
#ifdef ETCH_X86
  if (__builtin_cpu_supports("avx512f")) return read_512;
  if (__builtin_cpu_supports("avx2")) return read_256;
#endif
  return read_128;
}

constexpr int64_t kDotRounds = 4096;
constexpr int64_t kDots =
    12;  // independent sums: more than latency times throughput of any machine

int64_t dots_scalar() {
  int32_t sums[kDots] = {};
  int32_t a = 3, b = 5;
  for (int64_t i = 0; i < kDotRounds; ++i) {
    asm volatile("" : "+r"(a), "+r"(b));
    for (int32_t& s : sums) s += a * b;
  }
  for (int32_t& s : sums) asm volatile("" : : "r"(s));
  return kDotRounds * kDots;
}

#ifdef ETCH_X86
#define ETCH_12(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

[[gnu::target("avx2")]] int64_t dots_avx2() {
  int64_t n = kDotRounds;
#define DOT(i)                                                                                   \
  "vpmaddubsw %%ymm12, %%ymm13, %%ymm15\n vpmaddwd %%ymm14, %%ymm15, %%ymm15\n vpaddd %%ymm15, " \
  "%%ymm" #i ", %%ymm" #i "\n"
  asm volatile("1:\n" ETCH_12(DOT) "dec %0\n jnz 1b\n vzeroupper\n"
               : "+r"(n)
               :
               : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                 "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc");
#undef DOT
  return kDotRounds * kDots * 32;
}

[[gnu::target("avx512bw")]] int64_t dots_avx512() {
  int64_t n = kDotRounds;
#define DOT(i)                                                                                   \
  "vpmaddubsw %%zmm12, %%zmm13, %%zmm15\n vpmaddwd %%zmm14, %%zmm15, %%zmm15\n vpaddd %%zmm15, " \
  "%%zmm" #i ", %%zmm" #i "\n"
  asm volatile("1:\n" ETCH_12(DOT) "dec %0\n jnz 1b\n vzeroupper\n"
               : "+r"(n)
               :
               : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                 "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc");
#undef DOT
  return kDotRounds * kDots * 64;
}

[[gnu::target("avx512vnni")]] int64_t dots_vnni() {
  int64_t n = kDotRounds;
#define DOT(i) "vpdpbusd %%zmm12, %%zmm13, %%zmm" #i "\n"
  asm volatile("1:\n" ETCH_12(DOT) "dec %0\n jnz 1b\n vzeroupper\n"
               : "+r"(n)
               :
               : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                 "xmm10", "xmm11", "xmm12", "xmm13", "cc");
#undef DOT
  return kDotRounds * kDots * 64;
}
#endif

auto dots_of(etch_isa isa) {
#ifdef ETCH_X86
  if (isa == ETCH_AVX512_VNNI) return dots_vnni;
  if (isa == ETCH_AVX512) return dots_avx512;
  if (isa == ETCH_AVX2) return dots_avx2;
#endif
  (void)isa;
  return dots_scalar;
}

}  // namespace

double measure_read(std::span<const uint8_t> bytes, etch_team* team, double seconds) {
  const int64_t share = static_cast<int64_t>(bytes.size()) / etch_team_threads(team);
  const auto read = widest_read();
  const double rounds = rounds_per_second(
      team, seconds, [&](int32_t thread) { read(bytes.data() + share * thread, share); });
  return rounds * static_cast<double>(share);
}

double measure_int8_peak(etch_isa isa, etch_team* team, double seconds) {
  const auto dots = dots_of(isa);
  int64_t per_round = 0;
  const double rounds = rounds_per_second(team, seconds, [&](int32_t thread) {
    const int64_t n = dots();
    if (thread == 0) per_round = n;
  });
  return rounds * static_cast<double>(per_round);
}

}  // namespace etch
