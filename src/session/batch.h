// batch: the rows of a step, checked, and as kernels want to see them (etch_step). All memory is
// made once, for the largest step.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "etch/model_abi.h"
#include "lowered/lowered.h"
#include "session/session.h"

namespace etch {

// What a batch is checked against.
struct BatchLimits {
  int64_t n_rows = 0, n_outputs = 0, n_ctx = 0;
  int64_t n_tokens_known = 0;  // ids below it are tokens; 0: any
};
BatchLimits batch_limits(const Lowered& lowered);

class Batch {
 public:
  explicit Batch(const Lowered& lowered);

  // Splits rows into runs. `length_of` gives the positions a sequence has filled, -1 for one that
  // does not exist.
  Status fill(std::span<const BatchRow> rows, const std::function<int64_t(SequenceId)>& length_of);
  void fill_without_tokens();  // hand-made graphs: one row of nothing

  std::span<const etch_run> runs() const { return {runs_.data(), static_cast<size_t>(n_runs_)}; }
  std::span<const int32_t> tokens(const etch_run& run) const {
    return {tokens_.data() + run.first_row, static_cast<size_t>(run.count)};
  }
  // The table of a state for a run; to be set for all before a step.
  void set_state(int64_t state, int64_t run, uint8_t* const* table) {
    states_[static_cast<size_t>(state * n_runs_ + run)] = table;
  }
  const etch_step& step(const volatile int32_t* stop);  // with `failed` cleared
  const etch_step& step_at_work() const { return step_; }
  std::span<const int32_t> failed() const { return {failed_.data(), static_cast<size_t>(n_rows_)}; }
  int64_t n_rows() const { return n_rows_; }
  int64_t n_outputs() const { return n_outputs_; }

 private:
  Status check_row(std::span<const BatchRow> rows, size_t r, int64_t expected) const;

  BatchLimits limits_;
  int64_t n_states_ = 0;
  int64_t n_rows_ = 0, n_outputs_ = 0, n_runs_ = 0;
  std::vector<int32_t> tokens_, positions_, run_of_row_, output_rows_, failed_;
  std::vector<etch_run> runs_;
  std::vector<uint8_t* const*> states_;
  etch_step step_ = {};
};

}  // namespace etch
