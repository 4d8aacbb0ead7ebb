// Runs kernels through the registry the way an executor does: items shared out by etch_call, each
// thread with scratch of its own; and builds the steps they run on.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "kernels/kernel.h"
#include "support/guarded.h"

namespace etch::test {

inline std::vector<etch_isa> usable_isas() {
  std::vector<etch_isa> isas;
  for (int isa = 0; isa < ETCH_ISA_COUNT; ++isa)
    if (cpu_has(static_cast<etch_isa>(isa))) isas.push_back(static_cast<etch_isa>(isa));
  return isas;
}

// A step over runs of (sequence, first position, rows). Page tables are added by whoever has pages.
class Step {
 public:
  struct Run {
    int32_t sequence, first_position, count;
  };
  explicit Step(const std::vector<Run>& runs, std::vector<int32_t> output_rows = {})
      : outputs_(std::move(output_rows)) {
    for (const Run& r : runs) {
      runs_.push_back(
          {static_cast<int32_t>(tokens_.size()), r.count, r.first_position, r.sequence});
      for (int32_t i = 0; i < r.count; ++i) {
        tokens_.push_back(static_cast<int32_t>(tokens_.size()) * 7 % 11);
        positions_.push_back(r.first_position + i);
        run_of_row_.push_back(static_cast<int32_t>(runs_.size()) - 1);
      }
    }
    failed.resize(tokens_.size());
    abi.n_rows = static_cast<int32_t>(tokens_.size());
    abi.n_outputs = static_cast<int32_t>(outputs_.size());
    abi.n_runs = static_cast<int32_t>(runs_.size());
    abi.tokens = tokens_.data();
    abi.positions = positions_.data();
    abi.run_of_row = run_of_row_.data();
    abi.output_rows = outputs_.data();
    abi.runs = runs_.data();
    abi.failed = failed.data();
  }
  // One state, with a page table for each run.
  void set_tables(std::vector<uint8_t* const*> tables) {
    tables_ = std::move(tables);
    abi.n_states = 1;
    abi.states = tables_.data();
  }
  Step(const Step&) = delete;

  etch_step abi{};
  std::vector<int32_t> failed;
  std::vector<int32_t>& tokens() { return tokens_; }
  std::vector<int32_t>& positions() { return positions_; }

 private:
  std::vector<etch_run> runs_;
  std::vector<int32_t> tokens_, positions_, run_of_row_, outputs_;
  std::vector<uint8_t* const*> tables_;
};

// How a call is shared out. Threads run one after the other, the last first: no item may need
// another one's result.
struct How {
  etch_isa isa = ETCH_SCALAR;
  int32_t threads = 1;
};

template <class Args>
void run_kernel(std::string_view name, const Args& args, const etch_step& step, How how) {
  const etch_kernel* const kernel = find_kernel(name);
  ETCH_CHECK(kernel != nullptr, "no kernel '{}'", name);
  for (int32_t t = how.threads - 1; t >= 0; --t) {
    etch_thread thread{&step, nullptr, t, how.threads, 6};
    Args own = args;
    const int64_t bytes = kernel->scratch_bytes == nullptr ? 0 : kernel->scratch_bytes(&args);
    Guarded scratch((bytes + 63) / 64 * 64);
    if constexpr (requires { own.scratch; }) own.scratch = scratch.data();
    std::memset(scratch.data(), 0xff, static_cast<size_t>(scratch.size()));  // NaN
    etch_call(kernel, how.isa, &own, &thread);
  }
}

inline std::vector<float> random_floats(int64_t n, uint32_t seed, float deviation = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, deviation);
  std::vector<float> v(static_cast<size_t>(n));
  for (float& x : v) x = normal(random);
  return v;
}

template <class T>
uint8_t* bytes_of(std::vector<T>& v) {
  return reinterpret_cast<uint8_t*>(v.data());
}

// Rows of floats, one after another, in one buffer.
inline etch_view view_of(std::vector<float>& v, int64_t row_floats, int64_t inner_floats = 0) {
  return {bytes_of(v), 4 * row_floats, 4 * inner_floats};
}

// Where two results differ in their bits (any NaN equals any other); success if nowhere.
inline testing::AssertionResult same_bits(const std::vector<float>& a,
                                          const std::vector<float>& b) {
  if (a.size() != b.size())
    return testing::AssertionFailure() << a.size() << " floats instead of " << b.size();
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], 4) == 0 || (a[i] != a[i] && b[i] != b[i])) continue;
    return testing::AssertionFailure()
           << "element " << i << " of " << a.size() << ": " << a[i] << " instead of " << b[i];
  }
  return testing::AssertionSuccess();
}

// The largest |a - b| / max(|b|, floor).
inline double worst_error(const std::vector<float>& a, const std::vector<double>& b, double floor) {
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double error = std::abs(a[i] - b[i]) / std::max(std::abs(b[i]), floor);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

inline std::string describe(How how) {
  return std::string(isa_name(how.isa)) + ", " + std::to_string(how.threads) + " threads";
}

}  // namespace etch::test
