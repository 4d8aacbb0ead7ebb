// Quantised inputs: against arithmetic.md section 1 written down once more, in both layouts and on
// every instruction set, with ==.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/activations.h"
#include "kernels/kernel.h"
#include "support/guarded.h"

namespace etch {
namespace {

using activations::Group256;
using activations::Group32;

std::vector<etch_isa> usable_isas() {
  std::vector<etch_isa> isas;
  for (int isa = 0; isa < ETCH_ISA_COUNT; ++isa)
    if (cpu_has(static_cast<etch_isa>(isa))) isas.push_back(static_cast<etch_isa>(isa));
  return isas;
}

// What one group must become.
struct Expected {
  float d = 0;
  std::vector<int> q;
};
Expected expected_group(const float* x, int n) {
  Expected e;
  float largest = 0;
  for (int k = 0; k < n; ++k) largest = std::max(largest, std::fabs(x[k]));
  e.d = largest / 127.0f;
  e.q.resize(static_cast<size_t>(n));
  if (e.d < std::numeric_limits<float>::min()) {
    e.d = 0;
    return e;
  }
  const float inverse = 1.0f / e.d;
  for (int k = 0; k < n; ++k)
    e.q[static_cast<size_t>(k)] = static_cast<int>(std::nearbyint(x[k] * inverse));
  return e;
}

struct Quantised {
  test::Guarded memory;
  std::vector<int32_t> failed;
};

Quantised quantise(Representation r, etch_isa isa, const float* x, int64_t n_rows, int64_t d) {
  Quantised result{test::Guarded(activation_bytes(r, d, n_rows)),
                   std::vector<int32_t>(static_cast<size_t>(n_rows))};
  std::memset(result.memory.data(), 0x55, static_cast<size_t>(result.memory.size()));
  etch_step step{};
  step.n_rows = static_cast<int32_t>(n_rows);
  step.failed = result.failed.data();
  etch_quantize q{};
  q.x = {reinterpret_cast<uint8_t*>(const_cast<float*>(x)), 4 * d, 0};
  q.packed = result.memory.data();
  q.d = d;
  q.rows = {ETCH_TOKENS, 1};
  etch_thread thread{&step, nullptr, 0, 1, 41};
  etch_call(find_kernel("quantize_" + std::string(name(r))), isa, &q, &thread);
  return result;
}

bool is_packed(Representation r) {
  return r == Representation::q8_32_packed || r == Representation::q8_256_packed;
}

// Code k and group g of row r, wherever the layout keeps them (drawn in activations.h).
template <class Group>
struct Reader {
  const uint8_t* memory;
  Representation representation;
  int64_t d;
  int code(int64_t r, int64_t k) const {
    const int64_t at = is_packed(representation) ? r / 6 * activation_row_bytes(representation, d) +
                                                       k / 4 * 24 + r % 6 * 4 + k % 4
                                                 : r * activation_row_bytes(representation, d) + k;
    return static_cast<int8_t>(memory[at]);
  }
  Group group(int64_t r, int64_t g) const {
    constexpr int64_t kBytes = sizeof(Group);
    const int64_t at =
        is_packed(representation)
            ? r / 6 * activation_row_bytes(representation, d) + 6 * d + (g * 6 + r % 6) * kBytes
            : r * activation_row_bytes(representation, d) + d + g * kBytes;
    Group result;
    std::memcpy(&result, memory + at, sizeof result);
    return result;
  }
};

void expect_sums(const Group32& group, const std::vector<int>& q) {
  int n = 0;
  for (const int code : q) n += code;
  EXPECT_EQ(group.n, n);
  EXPECT_EQ(group.s, group.d * static_cast<float>(n));
}
void expect_sums(const Group256& group, const std::vector<int>& q) {
  for (int g = 0; g < 16; ++g) {
    int n = 0;
    for (int k = 0; k < 16; ++k) n += q[static_cast<size_t>(16 * g + k)];
    ASSERT_EQ(group.n16[g], n);
  }
  for (int g = 0; g < 8; ++g) ASSERT_EQ(group.n32[g], group.n16[2 * g] + group.n16[2 * g + 1]);
  const int order[16] = {0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15};
  for (int i = 0; i < 16; ++i) ASSERT_EQ(group.pairs16[i], group.n16[order[i]]);
  for (int i = 0; i < 8; ++i) ASSERT_EQ(group.pairs32[i], group.n32[order[i]]);
}

template <class Group>
void expect_right(Representation r, int64_t n_rows, int64_t d) {
  const int n = sizeof(Group) == sizeof(Group32) ? 32 : 256;
  std::vector<float> x(static_cast<size_t>(n_rows * d));
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0.0f, 3.0f);
  for (float& v : x) v = normal(random);
  std::fill_n(x.begin(), n, 0.0f);                   // zeros
  if (d > n) std::fill_n(x.begin() + n, n, 1e-44f);  // subnormal scale
  if (d > 2 * n)
    x[static_cast<size_t>(2 * n)] = std::numeric_limits<float>::max();  // the others become 0
  for (const etch_isa isa : usable_isas()) {
    const Quantised result = quantise(r, isa, x.data(), n_rows, d);
    EXPECT_THAT(result.failed, testing::Each(0));
    const Reader<Group> reader{result.memory.data(), r, d};
    for (int64_t row = 0; row < n_rows; ++row) {
      for (int64_t g = 0; g < d / n; ++g) {
        const Expected e = expected_group(x.data() + row * d + g * n, n);
        ASSERT_EQ(reader.group(row, g).d, e.d) << isa_name(isa) << " row " << row << " group " << g;
        for (int k = 0; k < n; ++k)
          ASSERT_EQ(reader.code(row, g * n + k), e.q[static_cast<size_t>(k)])
              << isa_name(isa) << " row " << row << " element " << g * n + k;
        expect_sums(reader.group(row, g), e.q);
      }
    }
    for (int64_t row = n_rows; is_packed(r) && row % 6 != 0; ++row)
      for (int64_t k = 0; k < d; ++k) ASSERT_EQ(reader.code(row, k), 0) << "missing column " << row;
  }
}

TEST(Quantize, follows_the_arithmetic_per_32) {
  expect_right<Group32>(Representation::q8_32, 3, 160);
  expect_right<Group32>(Representation::q8_32_packed, 8, 160);
}

TEST(Quantize, follows_the_arithmetic_per_256) {
  expect_right<Group256>(Representation::q8_256, 3, 768);
  expect_right<Group256>(Representation::q8_256_packed, 13, 768);
}

TEST(Quantize, marks_rows_that_are_not_finite_and_makes_them_zeros) {
  const int64_t d = 512;
  for (const float bad :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> x(static_cast<size_t>(4 * d), 1.0f);
    x[static_cast<size_t>(2 * d + 300)] = bad;
    for (const Representation r : {Representation::q8_32, Representation::q8_256,
                                   Representation::q8_32_packed, Representation::q8_256_packed}) {
      for (const etch_isa isa : usable_isas()) {
        const Quantised result = quantise(r, isa, x.data(), 4, d);
        EXPECT_THAT(result.failed, testing::ElementsAre(0, 0, 42, 0))
            << name(r) << " " << isa_name(isa);
        const Reader<Group32> reader{result.memory.data(), r, d};
        for (int64_t k = 0; k < d; ++k) {
          ASSERT_EQ(reader.code(2, k), 0);
          ASSERT_EQ(reader.code(3, k), 127);
        }
      }
    }
  }
}

TEST(NormQuantize, has_the_bits_of_norm_and_quantise_one_after_the_other) {
  const int64_t d = 768, n_rows = 8;
  std::mt19937 random(9);
  std::normal_distribution<float> normal(0.0f, 5.0f);
  std::vector<float> x(static_cast<size_t>(n_rows * d)), weight(static_cast<size_t>(d)),
      y(x.size());
  for (float& v : x) v = normal(random);
  for (float& v : weight) v = normal(random);
  x[static_cast<size_t>(5 * d + 700)] = std::numeric_limits<float>::infinity();
  for (const Representation r : {Representation::q8_32, Representation::q8_256,
                                 Representation::q8_32_packed, Representation::q8_256_packed}) {
    for (const etch_isa isa : usable_isas()) {
      std::vector<int32_t> failed(static_cast<size_t>(n_rows));
      etch_step step{};
      step.n_rows = static_cast<int32_t>(n_rows);
      step.failed = failed.data();
      etch_thread thread{&step, nullptr, 0, 1, 41};
      test::Guarded fused(activation_bytes(r, d, n_rows));
      etch_norm norm{};
      norm.x = {reinterpret_cast<uint8_t*>(x.data()), 4 * d, 0};
      norm.y = {reinterpret_cast<uint8_t*>(y.data()), 4 * d, 0};
      norm.weight = weight.data();
      norm.packed = fused.data();
      norm.d = d;
      norm.eps = 1e-5f;
      norm.rows = {ETCH_TOKENS, 1};
      etch_call(find_kernel("norm_quantize_" + std::string(name(r))), isa, &norm, &thread);
      EXPECT_THAT(failed, testing::ElementsAre(0, 0, 0, 0, 0, 42, 0, 0));
      etch_call(find_kernel("rmsnorm"), ETCH_SCALAR, &norm, &thread);
      const Quantised apart = quantise(r, ETCH_SCALAR, y.data(), n_rows, d);
      // All but the padding, which nobody writes.
      const Reader<Group32> a{fused.data(), r, d}, b{apart.memory.data(), r, d};
      const bool wide = r == Representation::q8_256 || r == Representation::q8_256_packed;
      for (int64_t row = 0; row < n_rows; ++row) {
        for (int64_t k = 0; k < d; ++k)
          ASSERT_EQ(a.code(row, k), b.code(row, k)) << name(r) << " " << isa_name(isa);
        for (int64_t g = 0; g < d / (wide ? 256 : 32); ++g) {
          const auto same = [&](const auto& p, const auto& q) {
            return std::memcmp(&p, &q, sizeof p) == 0;
          };
          if (wide) {
            ASSERT_TRUE(same((Reader<Group256>{fused.data(), r, d}.group(row, g)),
                             (Reader<Group256>{apart.memory.data(), r, d}.group(row, g))));
          } else {
            ASSERT_TRUE(same(a.group(row, g), b.group(row, g)));
          }
        }
      }
    }
  }
}

TEST(Quantize, rows_of_outputs_mark_the_token_they_come_from) {
  std::vector<float> x(96, 1.0f);
  x[40] = std::numeric_limits<float>::quiet_NaN();
  std::vector<int32_t> failed(6);
  const int32_t outputs[] = {1, 4, 5};
  etch_step step{};
  step.n_rows = 6;
  step.n_outputs = 3;
  step.output_rows = outputs;
  step.failed = failed.data();
  test::Guarded memory(activation_bytes(Representation::q8_32, 32, 3));
  etch_quantize q{};
  q.x = {reinterpret_cast<uint8_t*>(x.data()), 128, 0};
  q.packed = memory.data();
  q.d = 32;
  q.rows = {ETCH_OUTPUTS, 1};
  etch_thread thread{&step, nullptr, 0, 1, 6};
  etch_call(find_kernel("quantize_q8_32"), ETCH_SCALAR, &q, &thread);
  EXPECT_THAT(failed, testing::ElementsAre(0, 0, 0, 0, 7, 0));
}

TEST(Call, stops_between_pieces_when_told_to) {
  std::vector<float> x(32, 1.0f);
  std::vector<int32_t> failed(1);
  const volatile int32_t stop = 1;
  etch_step step{};
  step.n_rows = 1;
  step.failed = failed.data();
  step.stop = &stop;
  test::Guarded memory(activation_bytes(Representation::q8_32, 32, 1));
  etch_quantize q{};
  q.x = {reinterpret_cast<uint8_t*>(x.data()), 128, 0};
  q.packed = memory.data();
  q.d = 32;
  q.rows = {ETCH_TOKENS, 1};
  etch_thread thread{&step, nullptr, 0, 1, 0};
  etch_call(find_kernel("quantize_q8_32"), ETCH_SCALAR, &q, &thread);
  EXPECT_EQ(memory.data()[0], 0);
}

}  // namespace
}  // namespace etch
