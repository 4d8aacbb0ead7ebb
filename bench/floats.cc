// Speed of the kernels over float32 and of attention. A cycle is the time of one fma of the widest
// registers (measured in the same process, beside each benchmark), which on a Zen 4 is one clock of
// a core.
//
//   floats_bench --benchmark_filter='attend_f16.*'
//
//   cycles     per element; for attention of one row, per position and kv head
//   of_peak    share of fma peak that the products of attention reach
//   fma_ns     what a cycle was
//
// Names: kernel/sizes. Numbers of a shared machine are good against its fma_ns at most.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "support/kernel_run.h"

namespace etch {
namespace {

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Twelve chains of fma in registers, n times over.
#if defined(__x86_64__)
#define FMA_ROUND(r)                                                                               \
  "1:\n" FMA(r, 0) FMA(r, 1) FMA(r, 2) FMA(r, 3) FMA(r, 4) FMA(r, 5) FMA(r, 6) FMA(r, 7) FMA(r, 8) \
      FMA(r, 9) FMA(r, 10) FMA(r, 11) "dec %0\njnz 1b\n"
#define FMA(r, i) "vfmadd231ps %%" r "13, %%" r "14, %%" r #i "\n"
void fma_loop(int64_t n) {
  if (cpu_has(ETCH_AVX512))
    asm volatile(FMA_ROUND("zmm")
                 : "+r"(n)::"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                   "xmm9", "xmm10", "xmm11", "cc");
  else if (cpu_has(ETCH_AVX2))
    asm volatile(FMA_ROUND("ymm")
                 : "+r"(n)::"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                   "xmm9", "xmm10", "xmm11", "cc");
}
#else
void fma_loop(int64_t) {}
#endif
int64_t floats_of_fma() { return cpu_has(ETCH_AVX512) ? 16 : 8; }

double measure_fma() {
  double best = 1;
  for (int i = 0; i < 50; ++i) {
    const double start = seconds();
    fma_loop(4000);
    best = std::min(best, (seconds() - start) / (12 * 4000));
  }
  return best;
}

// Runs items first .. last - 1 again and again; the fastest run counts, because others use the
// machine too.
void run(benchmark::State& state, const etch_kernel& kernel, const void* args,
         const etch_thread& thread, int64_t first, int64_t last, double elements, double fmas = 0) {
  const double fma = measure_fma();
  double best = 1;
  for (auto _ : state) {
    const double start = seconds();
    kernel.fn[best_isa()](args, &thread, first, last);
    best = std::min(best, seconds() - start);
  }
  state.counters["cycles"] = best / fma / elements;
  state.counters["fma_ns"] = fma * 1e9;
  if (fmas > 0)
    state.counters["of_peak"] = fmas / static_cast<double>(floats_of_fma()) * fma / best;
}

void norm(benchmark::State& state, const std::string& name) {
  constexpr int64_t kRows = 16;
  const int64_t d = state.range(0);
  const test::Step step({{0, 0, kRows}});
  std::vector<float> x = test::random_floats(kRows * d, 1), y = x,
                     weight = test::random_floats(d, 2);
  etch_norm a{};
  a.x = test::view_of(x, d);
  a.y = test::view_of(y, d);
  a.weight = a.bias = weight.data();
  a.d = d;
  a.eps = 1e-5f;
  a.rows = {ETCH_TOKENS, 1};
  const etch_thread thread{&step.abi, nullptr, 0, 1, 0};
  run(state, *find_kernel(name), &a, thread, 0, kRows, static_cast<double>(kRows * d));
}

void elementwise(benchmark::State& state, etch_elementwise_op op) {
  constexpr int64_t kRows = 16;
  const int64_t d = state.range(0);
  const test::Step step({{0, 0, 1}});
  std::vector<float> a = test::random_floats(kRows * d, 1, 3),
                     b = test::random_floats(kRows * d, 2), y = a;
  etch_elementwise e{};
  e.a = test::bytes_of(a);
  e.b = test::bytes_of(b);
  e.y = test::bytes_of(y);
  e.sizes[0] = kRows, e.sizes[1] = e.sizes[2] = 1, e.sizes[3] = d;
  for (int64_t* strides : {e.a_strides, e.b_strides, e.y_strides})
    strides[0] = 4 * d, strides[3] = 4;
  e.op = op;
  const etch_thread thread{&step.abi, nullptr, 0, 1, 0};
  const etch_kernel& kernel = *find_kernel("elementwise");
  run(state, kernel, &e, thread, 0, kernel.items(&e, &thread), static_cast<double>(kRows * d));
}

// One kv head with `group` query heads, `d` entries each; `rows` rows at the end of `context`
// positions.
void attend(benchmark::State& state, KvType type, bool tile) {
  const int64_t group = state.range(0), d = state.range(1), context = state.range(2);
  const int64_t rows = tile ? std::min<int64_t>(context, 32) : 1;
  std::vector<test::Guarded> pages;
  std::vector<uint8_t*> table;
  for (int64_t at = 0; at < context; at += ETCH_PAGE_POSITIONS) {
    pages.emplace_back(kv_page_bytes(type, 1, d, d));
    table.push_back(pages.back().data());
  }
  std::vector<float> kv = test::random_floats(context * d, 1);
  test::Step before({{0, 0, static_cast<int32_t>(context)}});
  before.set_tables({table.data()});
  etch_append append{};
  append.k = append.v = test::view_of(kv, d, d);
  append.n = 1, append.d_k = append.d_v = d;
  test::run_kernel("append_" + std::string(name(type)), append, before.abi, {best_isa(), 1});

  test::Step step({{0, static_cast<int32_t>(context - rows), static_cast<int32_t>(rows)}});
  step.set_tables({table.data()});
  std::vector<float> q = test::random_floats(rows * group * d, 2), y = q;
  etch_attend a{};
  a.q = test::view_of(q, group * d, d);
  a.y = test::view_of(y, group * d, d);
  a.n_q = group, a.n_kv = 1, a.d_k = a.d_v = d;
  a.scale = 0.1f;
  const etch_kernel& kernel = *find_kernel("attend_" + std::string(name(type)));
  std::vector<float> scratch(static_cast<size_t>(kernel.scratch_bytes(&a) / 4 + 32));
  a.scratch = test::bytes_of(scratch);
  a.scratch += 64 - reinterpret_cast<uintptr_t>(a.scratch) % 64;
  const etch_thread thread{&step.abi, nullptr, 0, 1, 0};
  double scores = 0;
  for (int64_t r = 0; r < rows; ++r)
    scores += static_cast<double>((context - rows + r + 1) * group);
  run(state, kernel, &a, thread, 0, kernel.items(&a, &thread),
      tile ? scores : static_cast<double>(context), scores * 2 * static_cast<double>(d));
}

BENCHMARK_CAPTURE(norm, rmsnorm, "rmsnorm")->Arg(576)->Arg(2048);
BENCHMARK_CAPTURE(norm, layernorm, "layernorm")->Arg(576)->Arg(2048);
BENCHMARK_CAPTURE(norm, softmax, "softmax")->Arg(512);
BENCHMARK_CAPTURE(elementwise, add, ETCH_EW_ADD)->Arg(576);
BENCHMARK_CAPTURE(elementwise, silu_mul, ETCH_EW_SILU_MUL)->Arg(576)->Arg(1536);
BENCHMARK_CAPTURE(elementwise, gelu_tanh_mul, ETCH_EW_GELU_TANH_MUL)->Arg(576);
BENCHMARK_CAPTURE(elementwise, gelu_mul, ETCH_EW_GELU_MUL)->Arg(576);
BENCHMARK_CAPTURE(elementwise, exp, ETCH_EW_EXP)->Arg(576);
BENCHMARK_CAPTURE(elementwise, tanh, ETCH_EW_TANH)->Arg(576);

// group, d, context
void attention_sizes(benchmark::internal::Benchmark* b) {
  b->Args({1, 64, 512})
      ->Args({3, 64, 512})
      ->Args({4, 64, 512})
      ->Args({4, 64, 4096})
      ->Args({4, 256, 512})
      ->Args({4, 128, 2048});
}
BENCHMARK_CAPTURE(attend, f16_row, KvType::f16, false)->Apply(attention_sizes);
BENCHMARK_CAPTURE(attend, q8_0_row, KvType::q8_0, false)->Apply(attention_sizes);
BENCHMARK_CAPTURE(attend, f16_tile, KvType::f16, true)->Apply(attention_sizes);

}  // namespace
}  // namespace etch

BENCHMARK_MAIN();
