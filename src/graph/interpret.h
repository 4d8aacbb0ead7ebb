// interpret(): the plain evaluation of a graph, slow and obvious, and the judge of everything else.
//
// It reads weights row by row through their decoders, computes every node over all rows of a step,
// and keeps what sequences keep between steps. In float32 each operation rounds where
// circuit-language.md section 7 says, sums run in the order of 16 partial sums; transcendental
// functions come from libm in double and are rounded once. In float64 nothing is rounded to float
// but what the language rounds (numbers of dims, rotary angles, weights), so that the judge shares
// neither etch's polynomials nor its order of sums.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace etch {

enum class Precision : uint8_t { float32, float64 };

// One row of a step. Rows of a sequence stand in ascending order of positions, without gaps.
struct InterpretRow {
  int32_t token = 0;
  int32_t sequence = 0;
  int32_t position = 0;
  bool wants_output = true;
};

// Numbers for inputs beside tokens and positions: `hidden`, or those of a hand-made graph.
struct InterpretInput {
  std::string name;
  std::vector<float> real;   // [rows, shape]
  std::vector<int32_t> ids;  // or these
};

// What one sequence keeps of one state. Floats are kept as doubles, which hold them exactly.
struct KeptState {
  std::vector<double>
      k;  // cache, latents, index: [entries, n, d_k]; last: [n, d]; matrix: [n, d_k, d_v]
  std::vector<double> v;  // cache: [entries, n, d_v]
  int64_t entries = 0;
};
// By sequence, then by state. Graphs of one binding share it: `encode` fills what the main flow
// reads. A copy of an element is a fork.
using KeptStates = std::map<int32_t, std::vector<KeptState>>;

struct InterpretedOutput {
  std::string name;
  int64_t rows = 0;
  std::vector<int64_t> shape;  // of a row
  std::vector<double> values;  // [rows, shape]; floats where the precision is float32
};

struct Interpreted {
  std::vector<InterpretedOutput> outputs;  // in the graph's order
  const InterpretedOutput* find(std::string_view name) const;
};

// Told of every value of numbers once it is computed, in the order of the nodes: its id, how many
// rows, and the numbers [rows, shape]. Of the experts a router chose: [rows, top] ids
// and as many weights behind them in each row.
using OnValue = std::function<void(ValueId value, int64_t rows, std::span<const double> numbers)>;

// One step. Fails where the input is at fault: an id outside its table, positions with a gap, an
// input that is missing or of another size.
Result<Interpreted> interpret(const Graph& graph, std::span<const InterpretRow> rows,
                              KeptStates& states, Precision precision = Precision::float32,
                              std::span<const InterpretInput> inputs = {},
                              const OnValue& on_value = {});

}  // namespace etch
