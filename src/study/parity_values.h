// Which value of the graph a call leaves, and how to read it out of memory: the way from a run back
// to the circuit. A value that was fused into another node's call is nowhere, and is not listed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "lowered/lowered.h"
#include "session/program.h"

namespace etch {

struct LeftValue {
  ValueId value = kNoValue;
  int32_t call = -1;  // the last one of its node
  Place at;
  int32_t rows_of = ETCH_TOKENS;
  int64_t row_stride = 0;  // bytes
  struct Axis {
    int64_t count = 1, stride = 0;
  };
  std::vector<Axis> axes;  // of one row, outermost first
  Place ids;  // of chosen experts: where their ids stand, like the weights; else nowhere
};

// In the order of the calls.
std::vector<LeftValue> left_values(const Graph& graph, const Lowered& lowered, bool prefill);

// [rows, elements of a row] (of experts: [rows, ids and weights]), as the step at work has left it.
std::vector<float> read_value(const LeftValue& left, const CallResult& result);

}  // namespace etch
