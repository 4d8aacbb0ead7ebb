// Products of quantised and float weights: the scalar references against plain evaluation in
// double, everything else against the scalar references, bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "support/matmul_case.h"

namespace etch {
namespace {

using test::Matmul;
using test::MatmulCase;

const DType kTypes[] = {DType::f32,  DType::f16,  DType::bf16, DType::q4_0,   DType::q4_1,
                        DType::q5_0, DType::q5_1, DType::q8_0, DType::iq4_nl, DType::q2_k,
                        DType::q3_k, DType::q4_k, DType::q5_k, DType::q6_k,   DType::iq4_xs};

bool is_float(DType type) { return info(type).state == DTypeState::plain; }

std::string lower_case(std::string_view s) {
  std::string result;
  for (const char c : s) result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::vector<std::string> kernels_of(DType type) {
  const std::string base = "matmul_" + lower_case(name(type));
  return is_float(type) ? std::vector{base} : std::vector{base + "_registers", base + "_panel"};
}

std::vector<etch_isa> usable_isas() {
  std::vector<etch_isa> isas;
  for (int isa = 0; isa < ETCH_ISA_COUNT; ++isa)
    if (cpu_has(static_cast<etch_isa>(isa))) isas.push_back(static_cast<etch_isa>(isa));
  return isas;
}

// Where a differs from b in its bits, for messages; "" if nowhere.
std::string difference(const std::vector<float>& a, const std::vector<float>& b, int64_t n_out) {
  if (a.size() != b.size()) return "sizes differ";
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], 4) == 0) continue;
    return fmt::format("row {} output {}: {} instead of {} (difference {})",
                       static_cast<int64_t>(i) / n_out, static_cast<int64_t>(i) % n_out, a[i], b[i],
                       a[i] - b[i]);
  }
  return "";
}

class Products : public testing::TestWithParam<DType> {};

// With weights w as decoded from the file, a quantised x differs from x by at most half a step of
// its group, so a product differs by at most sum |w| d_x / 2. On top come the roundings of the
// chain: three a block, each at most 2^-24 of the largest partial sum, here bounded by the sums of
// magnitudes of codes and minimums.
TEST_P(Products, of_the_scalar_reference_are_near_plain_evaluation) {
  const DType type = GetParam();
  const int64_t n_in = 1536, n_out = 37, n_rows = 5;
  const Matmul m({type, n_out, n_in, n_rows});
  const int64_t group = info(type).block_elements == 256 ? 256 : 32;
  std::vector<float> w(static_cast<size_t>(n_in));
  for (const std::string& kernel : kernels_of(type)) {
    const std::vector<float> y = m.run(kernel, ETCH_SCALAR);
    for (int64_t o = 0; o < n_out; ++o) {
      info(type).decode(m.weight() + o * row_bytes(type, n_in), w.data(), n_in);
      for (int64_t r = 0; r < n_rows; ++r) {
        const float* const x = m.x() + r * n_in;
        double exact = 0, bound = 0, magnitudes = 0;
        for (int64_t g = 0; g < n_in; g += group) {
          double x_max = 0, w_max = 0;
          for (int64_t k = g; k < g + group; ++k) {
            x_max = std::max<double>(x_max, std::fabs(x[k]));
            w_max = std::max<double>(w_max, std::fabs(w[static_cast<size_t>(k)]));
          }
          for (int64_t k = g; k < g + group; ++k) {
            exact += static_cast<double>(w[static_cast<size_t>(k)]) * x[k];
            if (!is_float(type)) bound += std::fabs(w[static_cast<size_t>(k)]) * x_max / 127 / 2;
          }
          magnitudes += static_cast<double>(group) * 2 * w_max * x_max;
        }
        bound += magnitudes * static_cast<double>(3 * n_in / group + 8) * 0x1p-24;
        ASSERT_NEAR(y[static_cast<size_t>(r * n_out + o)], exact, bound)
            << kernel << " row " << r << " output " << o;
        ASSERT_LT(bound, 0.05 * magnitudes) << "a bound that says nothing";
      }
    }
  }
}

// Odd sizes, every number of columns, threads and pieces: the same bits as the first reference.
TEST_P(Products, have_the_same_bits_everywhere) {
  const DType type = GetParam();
  const int64_t block = info(type).block_elements;
  for (const int64_t n_rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 24, 25, 31, 40}) {
    for (const int64_t n_out : {1, 15, 33, 64}) {
      const int64_t n_in =
          is_float(type) ? 16 * (n_rows % 5) + n_rows : block * (1 + (n_rows + n_out) % 5);
      const Matmul m({type, n_out, n_in, n_rows});
      const std::vector<float> expected = m.run(kernels_of(type)[0], ETCH_SCALAR);
      for (const std::string& kernel : kernels_of(type)) {
        for (const etch_isa isa : usable_isas()) {
          ASSERT_EQ(difference(m.run(kernel, isa), expected, n_out), "")
              << kernel << " " << isa_name(isa) << " rows " << n_rows << " n_out " << n_out
              << " n_in " << n_in;
          ASSERT_EQ(difference(m.run(kernel, isa, 3, 1), expected, n_out), "")
              << kernel << " " << isa_name(isa) << " rows " << n_rows << " n_out " << n_out
              << ", 3 threads";
        }
      }
    }
  }
}

TEST_P(Products, have_the_same_bits_with_every_epilogue) {
  const DType type = GetParam();
  const int64_t n_in = is_float(type) ? 77 : 2 * info(type).block_elements;
  for (int mask = 0; mask < 20; ++mask) {
    MatmulCase c{type, 45, n_in, 7};
    c.activation = static_cast<etch_activation>(mask / 4);
    c.bias = (mask & 1) != 0;
    c.gate = (mask & 2) != 0;
    c.residual = (mask & 4) != 0 && !c.gate;
    const Matmul m(c);
    const std::vector<float> expected = m.run(kernels_of(type)[0], ETCH_SCALAR);
    for (const std::string& kernel : kernels_of(type))
      for (const etch_isa isa : usable_isas())
        ASSERT_EQ(difference(m.run(kernel, isa, 2), expected, c.n_out), "")
            << kernel << " " << isa_name(isa) << " bias " << c.bias << " gate " << c.gate
            << " residual " << c.residual;
  }
}

// More than one chunk of k, with and without gate and residual.
TEST_P(Products, have_the_same_bits_over_long_rows) {
  const DType type = GetParam();
  for (const bool gate : {false, true}) {
    MatmulCase c{type, 33, 8192 + 3 * 256, 14};
    c.gate = gate;
    c.residual = !gate;
    const Matmul m(c);
    const std::vector<float> expected = m.run(kernels_of(type)[0], ETCH_SCALAR);
    for (const std::string& kernel : kernels_of(type))
      for (const etch_isa isa : usable_isas())
        ASSERT_EQ(difference(m.run(kernel, isa), expected, c.n_out), "")
            << kernel << " " << isa_name(isa);
  }
}

// Each row's chosen experts, against the dense kernel of each expert's matrix; bias, gate and a
// divisor of ids too.
TEST_P(Products, of_chosen_experts_have_the_bits_of_dense_ones) {
  const DType type = GetParam();
  const int64_t n_in = is_float(type) ? 70 : 2 * info(type).block_elements, n_out = 37;
  const int32_t n_experts = 6, n_used = 3, divisor = 2, n_rows = 11;
  const int64_t bytes = row_bytes(type, n_in) * n_out;
  for (const bool per_slot : {false, true}) {
    std::mt19937 random(3);
    std::vector<int32_t> experts;
    for (int i = 0; i < n_rows * n_used; ++i)
      experts.push_back(static_cast<int32_t>(random() % 5));  // nobody takes 5
    // The matrices lie behind each other in reverse order, right before forbidden memory.
    const int n_matrices = n_experts / divisor;
    test::Guarded file(2 * n_matrices * bytes);
    test::fill_random_weights(type, file.data(), 2 * n_matrices * n_out * n_in, random);
    std::vector<int64_t> weights, gates;
    for (int i = 0; i < n_matrices; ++i) {
      weights.push_back((2 * n_matrices - 1 - i) * bytes);
      gates.push_back((n_matrices - 1 - i) * bytes);
    }
    std::normal_distribution<float> normal;
    std::vector<float> bias(static_cast<size_t>(n_experts * n_out)), gate_bias(bias.size());
    for (float& v : bias) v = normal(random);
    for (float& v : gate_bias) v = normal(random);
    const int64_t n_x = per_slot ? n_rows * n_used : n_rows;
    std::vector<float> x(static_cast<size_t>(n_x * n_in));
    for (float& v : x) v = normal(random);

    const auto run = [&](etch_isa isa, int32_t n_threads) {
      const std::string suffix = lower_case(name(type));
      const etch_kernel& kernel = *find_kernel("expert_matmul_" + suffix);
      std::vector<int32_t> failed(static_cast<size_t>(n_x)),
          order(static_cast<size_t>(n_experts + 1 + n_rows * n_used));
      etch_step step{};
      step.n_rows = static_cast<int32_t>(n_x);
      step.failed = failed.data();
      etch_thread alone{&step, nullptr, 0, 1, 0};
      test::Guarded quantised(activation_bytes(kernel.input, n_in, n_x));
      if (kernel.input == Representation::f32) {
        std::memcpy(quantised.data(), x.data(), 4 * x.size());
      } else {
        etch_quantize q{};
        q.x = {reinterpret_cast<uint8_t*>(x.data()), 4 * n_in, 0};
        q.packed = quantised.data();
        q.d = n_in;
        q.rows = {ETCH_TOKENS, 1};
        etch_call(find_kernel("quantize_" + std::string(name(kernel.input))), isa, &q, &alone);
      }
      step.n_rows = n_rows;
      etch_expert_order o{experts.data(), order.data(), n_used, n_experts, {ETCH_TOKENS, 1}};
      etch_call(find_kernel("expert_order"), isa, &o, &alone);
      EXPECT_THAT(failed, testing::Each(0));
      std::vector<float> y(static_cast<size_t>(n_rows * n_used * n_out));
      etch_expert_matmul m{};
      m.base = file.data();
      m.weights = weights.data();
      m.gates = gates.data();
      m.bias = bias.data();
      m.gate_bias = gate_bias.data();
      m.experts = experts.data();
      m.order = order.data();
      m.x = quantised.data();
      m.y = reinterpret_cast<uint8_t*>(y.data());
      m.n_in = n_in;
      m.n_out = n_out;
      m.row_bytes = row_bytes(type, n_in);
      m.x_stride = activation_row_bytes(kernel.input, n_in);
      m.x_per_slot = per_slot;
      m.n_used = n_used;
      m.n_experts = n_experts;
      m.divisor = divisor;
      m.activation = ETCH_ACT_SILU;
      m.rows = {ETCH_TOKENS, 1};
      test::Guarded scratch(kernel.scratch_bytes == nullptr ? 0 : kernel.scratch_bytes(&m));
      m.scratch = scratch.data();
      for (int32_t t = 0; t < n_threads; ++t) {
        etch_thread thread{&step, nullptr, t, n_threads, 0};
        etch_call(&kernel, isa, &m, &thread);
      }
      return y;
    };

    // The dense kernel, one pair at a time.
    std::vector<float> expected(static_cast<size_t>(n_rows * n_used * n_out));
    for (int pair = 0; pair < n_rows * n_used; ++pair) {
      const etch_kernel& kernel = *find_kernel(kernels_of(type)[0]);
      int32_t failed = 0;
      etch_step step{};
      step.n_rows = 1;
      step.failed = &failed;
      etch_thread thread{&step, nullptr, 0, 1, 0};
      test::Guarded quantised(activation_bytes(kernel.input, n_in, 1));
      float* const from = x.data() + (per_slot ? pair : pair / n_used) * n_in;
      if (kernel.input == Representation::f32) {
        std::memcpy(quantised.data(), from, static_cast<size_t>(4 * n_in));
      } else {
        etch_quantize q{};
        q.x = {reinterpret_cast<uint8_t*>(from), 4 * n_in, 0};
        q.packed = quantised.data();
        q.d = n_in;
        q.rows = {ETCH_TOKENS, 1};
        etch_call(find_kernel("quantize_" + std::string(name(kernel.input))), ETCH_SCALAR, &q,
                  &thread);
      }
      const int32_t e = experts[static_cast<size_t>(pair)];
      etch_matmul m{};
      m.weight = file.data() + weights[static_cast<size_t>(e / divisor)];
      m.gate = file.data() + gates[static_cast<size_t>(e / divisor)];
      m.bias = bias.data() + e * n_out;
      m.gate_bias = gate_bias.data() + e * n_out;
      m.x = quantised.data();
      m.y = reinterpret_cast<uint8_t*>(expected.data() + pair * n_out);
      m.n_in = n_in;
      m.n_out = n_out;
      m.row_bytes = row_bytes(type, n_in);
      m.activation = ETCH_ACT_SILU;
      m.rows = {ETCH_TOKENS, 1};
      test::Guarded scratch(kernel.scratch_bytes == nullptr ? 0 : kernel.scratch_bytes(&m));
      m.scratch = scratch.data();
      etch_call(&kernel, ETCH_SCALAR, &m, &thread);
    }
    for (const etch_isa isa : usable_isas())
      for (const int32_t n_threads : {1, 2})
        ASSERT_EQ(difference(run(isa, n_threads), expected, n_out), "")
            << isa_name(isa) << " per slot " << per_slot;
  }
}

TEST(ExpertOrder, an_id_that_is_none_fails_its_row) {
  const int32_t experts[] = {1, 0, 7, 1, -1, 1};
  std::vector<int32_t> failed(3), order(3 + 6);
  etch_step step{};
  step.n_rows = 3;
  step.failed = failed.data();
  etch_thread thread{&step, nullptr, 0, 1, 4};
  const etch_expert_order o{experts, order.data(), 2, 2, {ETCH_TOKENS, 1}};
  etch_call(find_kernel("expert_order"), ETCH_SCALAR, &o, &thread);
  EXPECT_THAT(failed, testing::ElementsAre(0, 5, 5));
  EXPECT_THAT(order, testing::ElementsAre(0, 3, 6, 1, 2, 4, 0, 3, 5));
}

// arithmetic.md section 3 in plain words.
TEST(FloatProducts, are_sixteen_partial_sums_and_a_tree) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    for (const int64_t n_in : {1, 15, 16, 100}) {
      const Matmul m({type, 5, n_in, 3});
      const std::vector<float> y = m.run(kernels_of(type)[0], ETCH_SCALAR);
      std::vector<float> w(static_cast<size_t>(n_in));
      for (int64_t o = 0; o < 5; ++o) {
        info(type).decode(m.weight() + o * row_bytes(type, n_in), w.data(), n_in);
        for (int64_t r = 0; r < 3; ++r) {
          float p[16] = {};
          for (int64_t k = 0; k < n_in; ++k)
            p[k % 16] = std::fma(w[static_cast<size_t>(k)], m.x()[r * n_in + k], p[k % 16]);
          for (int width = 8; width > 0; width /= 2)
            for (int i = 0; i < width; ++i) p[i] += p[i + width];
          ASSERT_EQ(y[static_cast<size_t>(r * 5 + o)], p[0] + 0.0f)
              << name(type) << " n_in " << n_in;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(types, Products, testing::ValuesIn(kTypes),
                         [](const auto& p) { return std::string(name(p.param)); });

TEST(Isas, that_this_machine_lacks_are_not_tested) {
  for (int isa = 0; isa < ETCH_ISA_COUNT; ++isa)
    if (!cpu_has(static_cast<etch_isa>(isa)))
      GTEST_SKIP() << "no " << isa_name(static_cast<etch_isa>(isa))
                   << " here: its kernels are skipped";
}

}  // namespace
}  // namespace etch
