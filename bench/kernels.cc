// Speed of every matmul kernel against what the machine can do, measured in the same process,
// seconds apart:
//
//   peak     GMAC/s of a loop of four-byte dots in registers, the same number of threads
//   read     GB/s of a loop that only reads the same weights
//   c256     cycles per 256 weights with all columns, a cycle being the time of one such dot
//
//   kernels_bench --benchmark_filter='matmul_q4_k_.*avx512_vnni'
//
// Names: kernel/instruction set/columns/n_in x n_out/threads. Big matrices (over 150 MB) are read
// from memory, small ones stay in the cache. Numbers of a shared machine are only good against peak
// and read of the same line.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/team.h"
#include "kernels/kernel.h"
#include "support/matmul_case.h"

namespace etch {
namespace {

struct Bytes {
  explicit Bytes(int64_t n)
      : memory(
            static_cast<uint8_t*>(std::aligned_alloc(64, static_cast<size_t>(n + 127) / 64 * 64))) {
  }
  ~Bytes() { std::free(memory); }
  Bytes(const Bytes&) = delete;
  uint8_t* memory;
};

etch_team* team_of(int32_t n) {
  static std::map<int32_t, etch_team*> teams;
  etch_team*& team = teams[n];
  if (team == nullptr) team = etch_team_create(n);
  return team;
}

double seconds(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class F>
void on_team(int32_t n_threads, F f) {
  etch_team_run(
      team_of(n_threads), [](void* g, int32_t thread) { (*static_cast<F*>(g))(thread); }, &f);
}

#if defined(__x86_64__)
// 12 chains of dots: no operand comes from memory.
__attribute__((target("avx512f,avx512vnni"), noinline)) void dots(int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    asm volatile(
        "vpdpbusd %%zmm30,%%zmm31,%%zmm0\n\tvpdpbusd %%zmm30,%%zmm31,%%zmm1\n\t"
        "vpdpbusd %%zmm30,%%zmm31,%%zmm2\n\tvpdpbusd %%zmm30,%%zmm31,%%zmm3\n\t"
        "vpdpbusd %%zmm30,%%zmm31,%%zmm4\n\tvpdpbusd %%zmm30,%%zmm31,%%zmm5\n\t"
        "vpdpbusd %%zmm30,%%zmm31,%%zmm6\n\tvpdpbusd %%zmm30,%%zmm31,%%zmm7\n\t"
        "vpdpbusd %%zmm30,%%zmm31,%%zmm8\n\tvpdpbusd %%zmm30,%%zmm31,%%zmm9\n\t"
        "vpdpbusd %%zmm30,%%zmm31,%%zmm10\n\tvpdpbusd %%zmm30,%%zmm31,%%zmm11" ::
            : "zmm0", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5", "zmm6", "zmm7", "zmm8", "zmm9",
              "zmm10", "zmm11");
  }
}
#endif

// GMAC/s; 0 where there are no such dots.
double peak(int32_t n_threads) {
#if defined(__x86_64__)
  if (!cpu_has(ETCH_AVX512_VNNI)) return 0;
  constexpr int64_t kLoops = 100'000;
  double best = 0;
  for (int i = 0; i < 20; ++i) {
    const double t = seconds([&] { on_team(n_threads, [](int32_t) { dots(kLoops); }); });
    best = std::max(best, 12.0 * 64 * kLoops * n_threads / t * 1e-9);
  }
  return best;
#else
  return 0;
#endif
}

double read_speed(const uint8_t* bytes, int64_t n, int32_t n_threads) {
  const int64_t rounds = std::max<int64_t>(1, (int64_t{64} << 20) / n);
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    const double t = seconds([&] {
      on_team(n_threads, [&](int32_t thread) {
        using Line = long long __attribute__((vector_size(64), aligned(1), may_alias));
        const int64_t lines = n / 64;
        Line all[4] = {};
        for (int64_t r = 0; r < rounds; ++r)
          for (int64_t l = lines * thread / n_threads; l + 4 <= lines * (thread + 1) / n_threads;
               l += 4)
            for (int64_t j = 0; j < 4; ++j)
              all[j] ^= *reinterpret_cast<const Line*>(bytes + (l + j) * 64);
        benchmark::DoNotOptimize(all[0] ^ all[1] ^ all[2] ^ all[3]);
      });
    });
    best = std::max(best, static_cast<double>(n * rounds) / t * 1e-9);
  }
  return best;
}

struct Shape {
  int64_t n_in, n_out;
};

void run_matmul(benchmark::State& state, const etch_kernel* kernel, etch_isa isa, int32_t n_rows,
                Shape shape, int32_t n_threads) {
  const DType type = *kernel->weight;
  const int64_t bytes = row_bytes(type, shape.n_in) * shape.n_out;
  Bytes weight(bytes), x(4 * n_rows * shape.n_in), y(4 * n_rows * shape.n_out);
  // One piece of random rows over and over: making them is slow.
  std::mt19937 random(1);
  const int64_t some = std::min<int64_t>(shape.n_out, 64), some_bytes = bytes / shape.n_out * some;
  test::fill_random_weights(type, weight.memory, some * shape.n_in, random);
  for (int64_t at = some_bytes; at < bytes; at += some_bytes)
    std::memcpy(weight.memory + at, weight.memory,
                static_cast<size_t>(std::min(some_bytes, bytes - at)));
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < n_rows * shape.n_in; ++i)
    reinterpret_cast<float*>(x.memory)[i] = normal(random);

  std::vector<int32_t> failed(static_cast<size_t>(n_rows));
  etch_step step{};
  step.n_rows = n_rows;
  step.failed = failed.data();
  Bytes quantised(activation_bytes(kernel->input, shape.n_in, n_rows));
  etch_thread alone{&step, nullptr, 0, 1, 0};
  if (kernel->input == Representation::f32) {
    std::memcpy(quantised.memory, x.memory, static_cast<size_t>(4 * n_rows * shape.n_in));
  } else {
    etch_quantize q{};
    q.x = {x.memory, 4 * shape.n_in, 0};
    q.packed = quantised.memory;
    q.d = shape.n_in;
    q.rows = {ETCH_TOKENS, 1};
    etch_call(find_kernel("quantize_" + std::string(name(kernel->input))), best_isa(), &q, &alone);
  }
  etch_matmul m{};
  m.weight = weight.memory;
  m.x = quantised.memory;
  m.y = y.memory;
  m.n_in = shape.n_in;
  m.n_out = shape.n_out;
  m.row_bytes = row_bytes(type, shape.n_in);
  m.x_stride = activation_row_bytes(kernel->input, shape.n_in);
  m.y_stride = 4 * shape.n_out;
  m.rows = {ETCH_TOKENS, 1};
  m.next = &m;
  std::vector<std::unique_ptr<Bytes>> scratch;
  std::vector<etch_matmul> args;
  for (int32_t t = 0; t < n_threads; ++t) {
    scratch.push_back(
        std::make_unique<Bytes>(kernel->scratch_bytes == nullptr ? 0 : kernel->scratch_bytes(&m)));
    m.scratch = scratch.back()->memory;
    args.push_back(m);
  }
  const auto once = [&] {
    on_team(n_threads, [&](int32_t t) {
      etch_thread thread{&step, nullptr, t, n_threads, 0};
      etch_call(kernel, isa, &args[static_cast<size_t>(t)], &thread);
    });
  };
  once();
  double best = 1e9;
  for (auto _ : state) {
    const double t = seconds(once);
    best = std::min(best, t);
    state.SetIterationTime(t);
  }
  const double top = peak(n_threads), read = read_speed(weight.memory, bytes, n_threads);
  const double macs = static_cast<double>(shape.n_in * shape.n_out) * n_rows / best * 1e-9;
  state.counters["GMAC/s"] = macs;
  if (top > 0) {
    state.counters["%peak"] = 100 * macs / top;
    state.counters["c256"] = 256.0 / 64 * n_rows / (macs / top);
  }
  state.counters["GB/s"] = static_cast<double>(bytes) / best * 1e-9;
  state.counters["%read"] = 100 * static_cast<double>(bytes) / best * 1e-9 / read;
}

}  // namespace
}  // namespace etch

int main(int argc, char** argv) {
  using namespace etch;
  for (const etch_kernel& kernel : all_kernels()) {
    if (kernel.args != ArgsKind::matmul) continue;
    const bool panel = kernel.name.ends_with("_panel");
    for (int isa = ETCH_SCALAR + 1; isa < ETCH_ISA_COUNT; ++isa) {
      if (!cpu_has(static_cast<etch_isa>(isa))) continue;
      for (const int32_t n_rows : panel ? std::vector{8, 32, 128, 512} : std::vector{1, 2, 4, 8}) {
        // In L1 (a tile), in L2, and from memory.
        for (const Shape shape :
             {Shape{256, 32}, Shape{2048, 128}, Shape{2048, 2048}, Shape{2048, 131072}}) {
          if (panel && shape.n_out > 2048) continue;
          for (const int32_t n_threads : {1, 2}) {
            if (n_threads > usable_threads()) continue;
            benchmark::RegisterBenchmark(
                (std::string(kernel.name) + "/" +
                 std::string(isa_name(static_cast<etch_isa>(isa))) + "/n" + std::to_string(n_rows) +
                 "/" + std::to_string(shape.n_in) + "x" + std::to_string(shape.n_out) + "/t" +
                 std::to_string(n_threads))
                    .c_str(),
                [=, &kernel](benchmark::State& state) {
                  run_matmul(state, &kernel, static_cast<etch_isa>(isa), n_rows, shape, n_threads);
                })
                ->UseManualTime();
          }
        }
      }
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
