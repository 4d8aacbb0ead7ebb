// Shape rules: from the operands of an operation to the types of its results, with whatever is
// wrong on the way. One rule serves the check of a circuit with letters and its proof with numbers
// at binding.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ops/op.h"
#include "ops/operand.h"
#include "ops/proof.h"

namespace etch {

struct ShapeFinding {
  int argument = -1;                // positional; -1: the whole call
  Answer answer = Answer::refuted;  // refuted: an error; open: a note
  std::string message;
};

class ShapeCheck {
 public:
  ShapeCheck(Op op, std::span<const Operand> arguments, std::span<const NamedOperand> attributes,
             int n_results, Proof& proof)
      : op(op), arguments(arguments), attributes(attributes), n_results(n_results), proof(proof) {}

  const Op op;
  const std::span<const Operand> arguments;
  const std::span<const NamedOperand> attributes;
  const int n_results;  // names at the left: as many as split gives
  Proof& proof;

  std::vector<Type> results;
  std::vector<ShapeFinding> findings;
  bool failed() const;  // an error among the findings

  const Operand* attribute(std::string_view name) const;
  const Shape& shape(size_t argument) const { return arguments[argument].type.shape; }
  // "attn_q", or "its input" for an expression without a name.
  std::string called(size_t argument) const;

  void result(Shape shape, Type::Kind kind = Type::Kind::real);
  void error(int argument, std::string message);

  // Wants a wire, part or number there; says what is there otherwise.
  bool value(size_t argument);
  bool wire(size_t argument);
  bool part(size_t argument);
  bool state(size_t argument, StateType::Kind kind);
  bool length(size_t argument, Polynomial& out);
  bool rank_at_least(size_t argument, size_t rank);
  // Two lengths must agree: silent, an error, or a note.
  template <class Message>
  bool equal(int argument, const Polynomial& a, const Polynomial& b, Message message) {
    const Answer answer = proof.equal(a, b);
    if (answer == Answer::refuted) error(argument, message());
    if (answer == Answer::open) open(argument, a, b);
    return answer != Answer::refuted;
  }
  // Two shapes, axes of length 1 aside.
  bool same_shape(int argument, const Shape& a, const Shape& b, const std::string& what);
  // a / b, an exact quotient; a note if it need not come out even, an error if it does not.
  bool divide(int argument, const Polynomial& a, const Polynomial& b, Polynomial& out,
              const std::string& what);
  // Broadcast at the last axis.
  bool broadcast(int argument, const Shape& a, const Shape& b, Shape& out);

 private:
  void open(int argument, const Polynomial& a, const Polynomial& b);
};

// Types of the results; empty if it failed.
void infer_shapes(ShapeCheck& check);

// One rule for each operation, in ops/<op>.cc; operations that graphs make have none.
namespace shape_rules {
#define OP(op, spelled, family, fewest, most) void op(ShapeCheck& check);
#include "ops/ops.def"
}  // namespace shape_rules

}  // namespace etch
