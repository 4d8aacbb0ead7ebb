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
  for (int mask = 0; mask < 8; ++mask) {
    MatmulCase c{type, 45, n_in, 7};
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
