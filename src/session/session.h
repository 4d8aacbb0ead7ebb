// Session: runs a Lowered (or a compiled Library of it) for any number of sequences. It owns all
// memory but the file: arena, thread memory, constants, KV pages, outputs, threads. It sees no
// graph, no circuit, no token text.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lowered/lowered.h"

namespace etch {

class Library;  // a compiled model (library.h)

using SequenceId = int32_t;

// Rows of one step. Rows of one sequence stand together, positions ascending from its length.
struct BatchRow {
  int32_t token = 0;
  SequenceId sequence = 0;
  int32_t position = 0;
  bool wants_output = false;
};

struct SessionOptions {
  int32_t n_threads = 0;        // 0: what the process may really use
  std::optional<etch_isa> isa;  // none: the best of this machine
  bool guard = false;  // red zones, NaN in dead buffers, names the call that wrote elsewhere
  std::shared_ptr<const Library> library;  // runs the calls; null: the executor does
  int64_t kv_budget_bytes = 0;  // 0: pages for one sequence of n_ctx; pages are touched on use
};

// What a step gives: rows of outputs in the order of the rows that wanted them. Valid until the
// next step.
struct StepResult {
  int64_t n_outputs = 0;
  std::span<const float> logits;  // [n_outputs, n_vocab], empty if the circuit has none
  std::span<const float> hidden;  // [n_outputs, d_model], likewise
};

// Planned memory in bytes; equals what is mapped anonymously.
struct MemoryPlan {
  int64_t kv = 0;     // address space for pages
  int64_t arena = 0;  // arena, threads' parts, constants, inputs, outputs
  int64_t total = 0;  // kv + arena
};

class Program;  // what runs the calls: the executor or a library (program.h)
struct CallResult;

class Session {
 public:
  // `file` is the base of the model's mapping; lowered and file must outlive the session.
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<const Lowered> lowered,
                                                 std::span<const uint8_t> file,
                                                 const SessionOptions& options);
  ~Session();

  // --- sequences
  Result<SequenceId> create_sequence();
  Result<SequenceId> fork(SequenceId from,
                          int64_t n_positions);  // shares pages up to n_positions (copy on write)
  Status truncate(SequenceId sequence, int64_t n_positions);
  void remove(SequenceId sequence);
  int64_t length(SequenceId sequence) const;  // positions filled; -1: there is no such sequence
  std::span<const int32_t> tokens(SequenceId sequence) const;  // of those positions
  // Goes back to the longest beginning that `tokens` shares with the sequence and that can be kept,
  // at most tokens.size() - 1 positions (the last token must run to give its logits). Returns its
  // length.
  Result<int64_t> reuse_prefix(SequenceId sequence, std::span<const int32_t> tokens);
  Result<std::vector<uint8_t>> save(SequenceId sequence) const;
  Status restore(SequenceId sequence, std::span<const uint8_t> saved);

  // --- steps
  // One forward pass. On error or cancellation every sequence is as it was before the step.
  Result<StepResult> step(std::span<const BatchRow> rows);
  // Hand-made graphs: fill inputs, run, read outputs.
  Result<std::span<float>> input(std::string_view name);
  Result<std::span<int32_t>> input_ids(std::string_view name);
  Status run();
  Result<std::span<const float>> output(std::string_view name) const;

  // From any thread or a signal handler: the step at work ends with ErrorKind::cancelled, and so
  // does every later one until clear_cancel().
  void cancel();
  void clear_cancel();

  const Lowered& lowered() const;
  const MemoryPlan& memory() const;
  int64_t n_vocab() const;
  int64_t max_rows() const;     // of one step
  int64_t max_outputs() const;  // rows of one step that may want outputs
  int32_t n_threads() const;
  etch_isa isa() const;
  // Called after every call with its seconds on thread 0 (profile); empty: not called, no cost
  // beyond one branch.
  std::function<void(const Call&, double seconds)> on_call;
  // Called after every call with what it has left (program.h), while all threads wait.
  std::function<void(const CallResult&)> on_result;

 private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The memory a session of these limits maps, without making one: what `etch inspect` prints.
MemoryPlan plan_memory(const Lowered& lowered, const SessionOptions& options);

// The number of threads a session of these options has.
int32_t planned_threads(const SessionOptions& options);

}  // namespace etch
