// Builder: makes the nodes of a Graph, one call each. It finds out what every node gives (infer.h),
// keeps names unique, and remembers the first mistake: later calls then return kNoValue, and
// finish() says what was wrong where. So a graph by hand is written as plain expressions:
//
//   Builder b("perceptron");
//   const ValueId x = b.input("x", Rows::once, {64});
//   b.output("y", b.linear(b.unary(Op::relu, b.linear(x, w1)), w2));
//   Graph g = ETCH_TRY(b.finish());
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace etch {

// A further input under the name of the attribute that refers to it; absent where kNoValue.
struct NamedWire {
  std::string_view name;
  ValueId value = kNoValue;
};

class Builder {
 public:
  explicit Builder(std::string name) { graph_.name = std::move(name); }

  // --- what flows in. tokens and positions are ids with a row per token and the shape [].
  ValueId input(std::string name, Rows rows, std::vector<int64_t> shape,
                Value::Kind kind = Value::Kind::real);
  ValueId weight(std::string name, WeightSource source);
  ValueId weight(std::string name, DType dtype, std::vector<int64_t> shape, const uint8_t* memory);
  ValueId constant(std::vector<float> values, std::vector<int64_t> shape);
  int state(StateInfo state);
  int rotary(Rotary rotary);
  void model(std::shared_ptr<const Model> model) { graph_.model = std::move(model); }

  // --- any operation
  std::vector<ValueId> apply_all(Op op, std::vector<ValueId> arguments,
                                 std::vector<Attribute> attributes = {},
                                 const std::vector<NamedWire>& wires = {});
  // The same for operations of one output.
  ValueId apply(Op op, std::vector<ValueId> arguments, std::vector<Attribute> attributes = {},
                const std::vector<NamedWire>& wires = {});

  // --- the operations by name, as circuit-language.md section 7 has them
  ValueId unary(Op op, ValueId x) { return apply(op, {x}); }
  ValueId binary(Op op, ValueId a, ValueId b) { return apply(op, {a, b}); }
  ValueId binary(Op op, ValueId a, double b) { return apply(op, {a}, {{"right", b}}); }
  ValueId binary(Op op, double a, ValueId b) { return apply(op, {b}, {{"left", a}}); }
  ValueId add(ValueId a, ValueId b) { return binary(Op::add, a, b); }
  ValueId mul(ValueId a, ValueId b) { return binary(Op::mul, a, b); }
  ValueId softcap(ValueId x, double cap);
  ValueId rmsnorm(ValueId x, double eps, ValueId weight = kNoValue);
  ValueId layernorm(ValueId x, double eps, ValueId weight = kNoValue, ValueId bias = kNoValue);
  ValueId l2norm(ValueId x, double eps) { return apply(Op::l2norm, {x}, {{"eps", eps}}); }
  ValueId embed(ValueId table, ValueId ids) { return apply(Op::embed, {table, ids}); }
  ValueId linear(ValueId x, ValueId weight, ValueId bias = kNoValue);
  ValueId linear_experts(ValueId x, ValueId experts, ValueId stack, int64_t divisor = 1,
                         ValueId bias = kNoValue);
  ValueId mix(ValueId y, ValueId experts, bool plain = false);
  ValueId rope(ValueId x, int rotary, bool inverse = false);
  ValueId heads(ValueId x, int64_t n) { return apply(Op::heads, {x}, {{"n", n}}); }
  ValueId merge(ValueId x) { return apply(Op::merge, {x}); }
  ValueId index(ValueId x, int64_t at) { return apply(Op::index, {x}, {{"at", at}}); }
  ValueId slice(ValueId x, int64_t first, int64_t last);
  std::vector<ValueId> split(ValueId x, std::vector<int64_t> sizes);
  ValueId reshape(ValueId x, std::vector<int64_t> shape);
  ValueId permute(ValueId x, std::vector<int64_t> axes);
  ValueId view(ValueId x, std::vector<int64_t> starts, std::vector<int64_t> shape);
  // k, v and the state as the operation has them: kNoValue and -1 where absent.
  ValueId attention(ValueId q, ValueId k, ValueId v, int state, double scale,
                    std::vector<Attribute> attributes = {},
                    const std::vector<NamedWire>& wires = {});

  // --- people's words and results
  void origin(Origin origin) { origin_ = std::move(origin); }  // of the nodes made from now on
  void name(ValueId v, const std::string& name);               // "q"; made unique: "q", "q.1"
  void output(std::string name, ValueId v);
  bool has(ValueId v) const { return v >= 0 && v < static_cast<ValueId>(graph_.values.size()); }
  const Value& value(ValueId v) const { return graph_.value(v); }
  bool failed() const { return !status_.has_value(); }
  const Status& status() const { return status_; }  // the first mistake
  void fail_with(Error error);                      // kept if it is the first

  Result<Graph> finish() &&;

 private:
  ValueId add_value(Value value);
  ValueId source(Op op, std::vector<Attribute> attributes, Value value, const std::string& name);

  Graph graph_;
  Origin origin_;
  Status status_;
  std::unordered_map<std::string, int> names_;  // how often each was given
};

}  // namespace etch
