// Parity: two runs of the same tokens, compared value by value, in the order in which they are
// computed, so that the first place where they part is named: a line of the circuit, a layer, a
// tensor. What is fused away in one of the runs is compared where it comes to light.
//
// Both runs go on at the same time, each in a thread of its own, and wait for one another, so that
// only the values at work are in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"

namespace etch {

// Rows of one step of a run, and what of it is looked at.
struct ParityStep {
  std::vector<int32_t> tokens;
  int observed = -1;      // number of the comparison it takes part in; -1: none
  int64_t first_row = 0;  // rows from here on are compared
};

// One of the two runs.
class ParityRun {
 public:
  // `origin`: the call it comes from, where there is one.
  using Take = std::function<void(ValueId value, int64_t rows, std::vector<float> numbers)>;

  virtual ~ParityRun() = default;
  virtual std::string what() const = 0;  // "model.gguf on avx512_vnni, 2 threads"
  virtual const Graph& graph() const = 0;
  virtual int64_t most_rows() const = 0;  // of one step
  // Is this value to be seen in a step of so many rows?
  virtual bool shows(ValueId value, int64_t n_rows) const = 0;
  virtual Status step(const ParityStep& step, const Take& take) = 0;
};

// Kernels on the session (executor or library) of an engine; both must outlive the run.
std::unique_ptr<ParityRun> run_of_session(const Compiled& compiled, Session& session,
                                          std::string what);
std::unique_ptr<ParityRun> run_of_interpreter(const Compiled& compiled, bool in_double,
                                              std::string what);

// What a pair of runs promises.
enum class Promise : uint8_t {
  same_bits,  // of one model and one type of cache, however it is run
  rounding,   // kernels and plain evaluation: as close as activations in int8 allow
  nothing,    // two models
};
std::string_view name(Promise promise);

struct ParityOptions {
  std::vector<int32_t> tokens;
  int64_t n_decode = 2;  // of them, the last ones, in steps of their own
  Promise promise = Promise::same_bits;
  double tolerance = 0;            // of `typical`; for same_bits not asked
  int64_t rows_a = 0, rows_b = 0;  // rows of a step where they differ between the runs; 0: alike
};

// Two rows of numbers, or many.
struct Difference {
  int64_t rows = 0, width = 0;
  int64_t n_different = 0;  // numbers of other bits
  double max_abs = 0, mean_abs = 0;
  double cosine = 1;
  double typical = 0;  // median over rows: root mean square of the difference, in those of a
  int64_t worst_row = 0, worst_element = 0;
  float a = 0, b = 0;                 // there
  std::vector<float> a_near, b_near;  // eight numbers around it
};
Difference measure(std::span<const float> a, std::span<const float> b, int64_t width);

struct ComparedValue {
  int step = 0;
  ValueId value = kNoValue;  // of A's graph
  NodeId node = -1;
  int layer = -1;
  std::string location;  // "circuits/llama.circuit:52"
  std::string what;      // "q = linear(h, attn_q)"
  std::string tensor;    // that goes into it, ""
  Difference difference;
  bool differs = false;  // beyond what the pair promises
};

struct ParityReport {
  std::string a, b;
  Promise promise = Promise::same_bits;
  double tolerance = 0;
  int64_t n_tokens = 0, n_steps = 0;
  int64_t n_rerouted = 0;  // rows for which rounding chose other experts: from there on left out
  int64_t n_only_a = 0, n_only_b = 0;  // values of steps that the other run does not show
  std::vector<ComparedValue> values;   // in the order of A, step by step
  int n_different = 0;                 // beyond the promise

  const ComparedValue* first() const;  // of those
  const ComparedValue* worst() const;  // largest typical difference
};

Result<ParityReport> compare(ParityRun& a, ParityRun& b, const ParityOptions& options);

// Logits of a run against somebody else's numbers, [tokens, n_vocab]: one comparison a position.
Result<ParityReport> compare_with_reference(Session& session, std::span<const int32_t> tokens,
                                            std::span<const float> reference, double tolerance);

// How far rounding may take kernels from plain evaluation (ParityOptions::tolerance).
double rounding_tolerance(const Model& model);

// Values of B's graph as those of A's: by layer, wire, operation and order of appearance. kNoValue:
// there is no such value in A.
std::vector<ValueId> align(const Graph& a, const Graph& b);

std::string print_parity_json(const ParityReport& report);  // "etch.parity/1"

}  // namespace etch
