// Graph: what a model computes, as pure SSA dataflow. A Value has a type and a shape and no
// address; a Node makes values from values. Nothing here knows kernels, CPUs or memory.
//
// A value has rows: one per token of the step, one per row that wants outputs, one per sequence
// (after `pool`), one per block of tokens that the step completes (after `compress`), or one in all
// (weights, constants, and everything in graphs that GraphBuilder makes by hand). Its shape is that
// of one row, last axis contiguous in logic.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "circuit/binding.h"
#include "dtypes/dtype.h"
#include "ops/op.h"

namespace etch {

using ValueId = int32_t;
using NodeId = int32_t;
constexpr ValueId kNoValue = -1;

enum class Rows : uint8_t { once, tokens, outputs, sequences, blocks };
std::string_view name(Rows rows);

struct Value {
  // ids: int32. experts: pairs of an int32 id and a float weight, shape [top]. Weights keep their
  // file's type.
  enum class Kind : uint8_t { real, ids, experts, selection };
  std::string name;  // of the wire, for people: "q", "x.3"
  Kind kind = Kind::real;
  DType dtype = DType::f32;  // of weights; f32 for all computed values
  Rows rows = Rows::tokens;
  int64_t block = 0;           // of rows == blocks: how many tokens make one
  std::vector<int64_t> shape;  // [d_model], [n_heads, d_head]; up to four axes; empty: a scalar
  NodeId node = -1;            // who makes it
  int output = 0;              // which of its outputs

  int64_t elements() const;  // of one row
};
std::string_view name(Value::Kind kind);
constexpr size_t kMostAxes = 4;

// Where a weight's numbers come from.
struct WeightSource {
  enum class Kind : uint8_t { file, memory };
  Kind kind = Kind::file;
  // file: offsets in the model's mapping, one, or one for each first index (always so for stacks of
  // matrices); memory: dtype and shape alone
  PartData data;
  const uint8_t* memory = nullptr;  // memory: row-major, must outlive whatever runs the graph
};

struct WireRef {
  int input = -1;  // index into Node::inputs
  bool operator==(const WireRef&) const = default;
};
struct StateRef {
  int state = -1;  // index into Graph::states
  bool operator==(const StateRef&) const = default;
};
struct RotaryRef {
  int rotary = -1;  // index into Graph::rotaries
  bool operator==(const RotaryRef&) const = default;
};
using AttributeValue =
    std::variant<std::monostate, bool, int64_t, double, Symbol, WireRef, StateRef, RotaryRef,
                 std::vector<int64_t>, std::vector<float>, std::string>;
struct Attribute {
  std::string_view name;  // a literal: one of ops.def, or one of those listed at Node
  AttributeValue value;
};

// Where a node comes from, kept through all stages.
struct Origin {
  std::string file;  // "circuits/llama.circuit"
  int line = 0, column = 0;
  int layer = -1;  // value of the innermost loop variable
};

// clang-format off
// Attributes beside those of ops.def (what the language writes as arguments):
//   rmsnorm layernorm l2norm   eps            clamp           lo, hi (absent: none)
//   softcap                    cap            repeat          n, kind (tile | interleave)
//   rope                       rotary         slice           first, last
//   heads                      n              split           sizes
//   index                      at             zeros, reshape  shape
//   permute                    axes           view            starts, shape
//   pool                       kind           constant        values, shape
//   input                      name           weight          source (index into Graph::weights)
//   linear_experts             divisor        mix             plain (adds without weights)
//   attention append select conv1d shift linear_attention compress    state
// An elementwise node of a wire and a number has one input and the attribute `left` or `right`: the
// number. Further inputs are named by attributes that hold a WireRef: `weight` and `bias` of norms,
// `bias` of linear, linear_experts and conv1d, and those of ops.def (sinks, relative, log_decay, ...).
//
// Inputs of linear are (x, W); of linear_experts (x, experts, stack), where x is [d], shared by the
// chosen experts, or [top, .., d]; of mix (y [top, ..], experts). attention(q) reads a cache that
// others fill, attention(q, k) latents. Where values have no rows of their own, attention takes their
// first axis for tokens.
// clang-format on
struct Node {
  Op op = Op::add;
  std::vector<ValueId> inputs;
  std::vector<Attribute> attributes;
  std::vector<ValueId> outputs;
  Origin origin;
  bool dead = false;  // left behind by a pass; ids stay stable

  const AttributeValue* find(std::string_view name) const;
  double number(std::string_view name, double otherwise = 0) const;  // integers too
  int64_t integer(std::string_view name, int64_t otherwise = 0) const;
  bool truth(std::string_view name, bool otherwise = false) const;
  Symbol symbol(std::string_view name, Symbol otherwise) const;
  ValueId wire(std::string_view name) const;                   // kNoValue if absent
  int state() const;                                           // -1 if absent
  int rotary() const;                                          // -1 if absent
  std::vector<int64_t> integers(std::string_view name) const;  // empty if absent

  int n_arguments() const;    // inputs that no attribute names: they come first
  bool writes_state() const;  // must run even if nobody uses what it gives
};

struct GraphOutput {
  std::string name;  // "logits", "hidden", "embedding", "scores", or a GraphBuilder's
  ValueId value = kNoValue;
};

struct Graph {
  std::string name;         // "llama 2" or the builder's
  std::vector<Node> nodes;  // in an order in which everything is made before it is used
  std::vector<Value> values;
  std::vector<WeightSource> weights;
  std::vector<Rotary> rotaries;
  std::vector<StateInfo> states;
  std::vector<ValueId> inputs;
  std::vector<GraphOutput> outputs;
  std::shared_ptr<const Model> model;  // null for graphs built by hand from memory

  const Node& maker(ValueId v) const {
    return nodes[static_cast<size_t>(values[static_cast<size_t>(v)].node)];
  }
  const Value& value(ValueId v) const { return values[static_cast<size_t>(v)]; }
  const WeightSource* weight_of(ValueId v) const;  // null if v is no weight
  const GraphOutput* find_output(std::string_view name) const;
};

}  // namespace etch
