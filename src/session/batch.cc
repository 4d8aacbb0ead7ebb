#include "session/batch.h"

#include <algorithm>
#include <functional>

#include "lowered/arguments.h"

namespace etch {

BatchLimits batch_limits(const Lowered& lowered) {
  BatchLimits l;
  l.n_rows = lowered.prefill.calls.empty() ? lowered.decode.max_rows : lowered.prefill.max_rows;
  l.n_outputs = lowered.limits.n_outputs;
  l.n_ctx = lowered.limits.n_ctx;
  // The table that the step's own tokens are looked up in says how many there are.
  for (const Call& call : lowered.decode.calls) {
    if (call.kernel->args != ArgsKind::embed) continue;
    if (argument<Place>(call, "ids").space != Space::none) continue;
    l.n_tokens_known = argument<int64_t>(call, "n_table");
  }
  return l;
}

Batch::Batch(const Lowered& lowered)
    : limits_(batch_limits(lowered)), n_states_(static_cast<int64_t>(lowered.states.size())) {
  const auto n = static_cast<size_t>(std::max<int64_t>(1, limits_.n_rows));
  for (auto* v : {&tokens_, &positions_, &run_of_row_, &output_rows_, &failed_}) v->resize(n);
  runs_.resize(n);
  states_.resize(n * static_cast<size_t>(n_states_));
}

Status Batch::check_row(std::span<const BatchRow> rows, size_t r, int64_t expected) const {
  const BatchRow& row = rows[r];
  if (row.token < 0 || (limits_.n_tokens_known > 0 && row.token >= limits_.n_tokens_known)) {
    return fail(ErrorKind::usage, "row {} of the batch: there is no token {}; the model has {}", r,
                row.token, limits_.n_tokens_known);
  }
  if (row.position != expected) {
    return fail(
        ErrorKind::usage,
        "row {} of the batch: sequence {} continues at position {}, the row is for position {}", r,
        row.sequence, expected, row.position);
  }
  if (row.position >= limits_.n_ctx) {
    return fail(ErrorKind::resources,
                "the context of {} positions is full\n  a larger --ctx holds more", limits_.n_ctx);
  }
  return {};
}

Status Batch::fill(std::span<const BatchRow> rows,
                   const std::function<int64_t(SequenceId)>& length_of) {
  n_rows_ = n_outputs_ = n_runs_ = 0;
  if (rows.empty()) return fail(ErrorKind::usage, "the batch has no rows");
  if (static_cast<int64_t>(rows.size()) > limits_.n_rows) {
    return fail(ErrorKind::usage, "the batch has {} rows, a step takes at most {} (--ubatch)",
                rows.size(), limits_.n_rows);
  }
  int64_t n_outputs = 0;
  int64_t n_runs = 0;
  for (size_t r = 0; r < rows.size(); ++r) {
    const BatchRow& row = rows[r];
    const bool continues = r > 0 && rows[r - 1].sequence == row.sequence;
    if (!continues) {
      for (int64_t i = 0; i < n_runs; ++i) {
        if (runs_[static_cast<size_t>(i)].sequence == row.sequence) {
          return fail(ErrorKind::usage,
                      "row {} of the batch: the rows of sequence {} do not stand together", r,
                      row.sequence);
        }
      }
      const int64_t length = length_of(row.sequence);
      if (length < 0) {
        return fail(ErrorKind::usage, "row {} of the batch: there is no sequence {}", r,
                    row.sequence);
      }
      ETCH_TRY(check_row(rows, r, length));
      runs_[static_cast<size_t>(n_runs++)] = {.first_row = static_cast<int32_t>(r),
                                              .count = 0,
                                              .first_position = row.position,
                                              .sequence = row.sequence};
    } else {
      ETCH_TRY(check_row(rows, r, int64_t{rows[r - 1].position} + 1));
    }
    ++runs_[static_cast<size_t>(n_runs - 1)].count;
    tokens_[r] = row.token;
    positions_[r] = row.position;
    run_of_row_[r] = static_cast<int32_t>(n_runs - 1);
    if (!row.wants_output) continue;
    if (n_outputs == limits_.n_outputs) {
      return fail(ErrorKind::usage, "more than {} rows of the batch want outputs",
                  limits_.n_outputs);
    }
    output_rows_[static_cast<size_t>(n_outputs++)] = static_cast<int32_t>(r);
  }
  n_rows_ = static_cast<int64_t>(rows.size());
  n_outputs_ = n_outputs;
  n_runs_ = n_runs;
  return {};
}

void Batch::fill_without_tokens() {
  n_rows_ = n_outputs_ = n_runs_ = 1;
  tokens_[0] = positions_[0] = run_of_row_[0] = output_rows_[0] = 0;
  runs_[0] = {.first_row = 0, .count = 1, .first_position = 0, .sequence = 0};
}

const etch_step& Batch::step(const volatile int32_t* stop) {
  std::fill_n(failed_.begin(), n_rows_, 0);
  step_ = {.n_rows = static_cast<int32_t>(n_rows_),
           .n_outputs = static_cast<int32_t>(n_outputs_),
           .n_runs = static_cast<int32_t>(n_runs_),
           .n_states = static_cast<int32_t>(n_states_),
           .tokens = tokens_.data(),
           .positions = positions_.data(),
           .run_of_row = run_of_row_.data(),
           .output_rows = output_rows_.data(),
           .runs = runs_.data(),
           .states = states_.data(),
           .failed = failed_.data(),
           .stop = stop};
  return step_;
}

}  // namespace etch
