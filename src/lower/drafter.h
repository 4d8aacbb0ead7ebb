// Drafter: makes the calls of one list from a graph, node after node, everything in float32 and
// nothing fused. What each operation becomes stands in ops/; here is what they share: where values
// lie, rows as kernels want them, copies where a view will not do.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "lower/constants.h"
#include "lower/draft.h"

namespace etch {

// A weight, or some of its rows or matrices.
struct WeightView {
  const WeightSource* source = nullptr;
  std::string tensor;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::vector<int64_t> offsets;  // as Place::offset in the file; one per matrix of a stack

  Place at(size_t matrix = 0) const { return {Space::file, offsets[matrix], -1}; }
};

class Drafter {
 public:
  Drafter(const Graph& graph, const LowerOptions& options, Lowered& lowered, Constants& constants,
          Draft& draft)
      : graph(graph), options(options), lowered(lowered), constants(constants), draft(draft) {}

  Status run();

  // ---- for the operations

  const Graph& graph;
  const LowerOptions& options;
  Lowered& lowered;
  Constants& constants;
  Draft& draft;

  const Value& value(ValueId v) const { return graph.values[static_cast<size_t>(v)]; }
  tl::unexpected<Error> unsupported(const Node& node, std::string_view why) const;

  // Where a value lies. Weights are used in place if they are float32 there, else from a constant.
  Result<Operand> operand(ValueId v);
  void define(ValueId v, Operand operand);  // a view
  Operand make(ValueId v);  // a new slot for a computed value, tight, in the output if it is one
  Operand make(std::string name, Rows rows, std::vector<int64_t> shape,
               Representation representation = Representation::f32);
  bool is_weight(ValueId v) const { return weights_.contains(v); }
  const WeightView* weight(ValueId v) const;
  void define(ValueId v, WeightView weight) { weights_[v] = std::move(weight); }
  // A whole weight as float32 for a kernel: null for kNoValue.
  Result<Place> floats(ValueId v);
  // The chosen experts of a routing: ids, their weights, and their order once one asks for it.
  struct Experts {
    Place ids, weights, order;
    int64_t top = 0, n_experts = 0;
    Rows rows = Rows::tokens;
    etch_rows all_rows = {ETCH_TOKENS, 1};
  };
  std::map<ValueId, Experts> experts;

  DraftCall& emit(ArgsKind kind, std::string op);  // with the origin of the node at work
  void set_tensor(DraftCall& call, const WeightView& weight) const;

  // The operand as rows of its last axis (d elements), copied first if it cannot be seen so.
  Result<RowsView> rows(const Operand& x);
  Result<Operand> contiguous(const Operand& x);  // itself, or a copy whose rows are tight
  Result<Operand> copy(const Operand& x);
  Status copy_to(const Operand& x, const Operand& y);

  // y = op(a, b) elementwise with broadcasting; a null operand is the constant.
  struct Elementwise {
    etch_elementwise_op op = ETCH_EW_COPY;
    const Operand* a = nullptr;
    const Operand* b = nullptr;
    float constant = 0, lo = 0, hi = 0;
  };
  Status elementwise(const Elementwise& what, const Operand& y);

  // cos and sin for every row of a kind, made once a list.
  Result<Place> rotary_table(int rotary, Rows rows);

 private:
  Status lower_node(NodeId id);
  Status define_sources();
  Status finish_outputs();
  int32_t output_slot(ValueId v);
  Result<Place> dequantised(const WeightView& w);
  CallOrigin origin_of(const Node& node, NodeId id) const;

  NodeId node_ = -1;
  CallOrigin origin_;
  std::map<ValueId, Operand> operands_;
  std::map<ValueId, WeightView> weights_;
  std::map<ValueId, int32_t> output_slots_;
  std::map<std::pair<int, Rows>, Place> tables_;
  std::map<std::pair<int64_t, int64_t>, Place> dequantised_;  // by offset and elements
};

// Strides of a shape whose elements stand one after the other, in bytes.
std::vector<int64_t> tight_strides(const std::vector<int64_t>& shape);
int64_t count_elements(const std::vector<int64_t>& shape);
bool is_tight(const Operand& x);

// Where the bytes of a weight from memory or file lie; an unexpected shape is an error.
Result<WeightView> view_weight(const Graph& graph, const Lowered& lowered,
                               const WeightSource& source, std::string name);

// ---- the table of operations (ops.cc): null where none is needed or there is none yet.
using LowerOp = Status (*)(Drafter&, const Node&);
LowerOp lower_op(Op op);

}  // namespace etch
