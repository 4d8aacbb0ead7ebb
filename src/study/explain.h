// explain(): one node of a model through all stages: the circuit's line, the graph, the calls, and
// why each kernel was taken.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compile/compile.h"

namespace etch {

struct ExplainedCall {
  bool prefill = false;
  int32_t number = 0;  // in its list
  NodeId node = -1;    // that the call ends with
  std::string text;    // as print_call has it
};

struct Explanation {
  NodeId node = -1;
  std::string location, what;        // "circuits/llama.circuit:52", "q = linear(h, attn_q)"
  std::string tensor;                // "blk.3.attn_q.weight Q4_1 [576, 576]", ""
  std::vector<ExplainedCall> calls;  // empty where the node is a view or was fused into another
  std::vector<Choice> choices;       // of decode and prefill
};

// `what` is a node ("n17", "17"), a tensor of the file ("blk.3.attn_q.weight"), or a wire ("q", of
// all layers).
Result<std::vector<Explanation>> explain(const Compiled& compiled, std::string_view what);

// One line a weight: tensor, type, shape, kernels of decode and prefill.
struct KernelLine {
  std::string tensor, type, shape, decode, prefill;
  NodeId node = -1;
};
std::vector<KernelLine> kernel_lines(const Compiled& compiled);

}  // namespace etch
