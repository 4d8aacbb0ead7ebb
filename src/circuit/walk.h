// The one walk over a flow. It evaluates conditions of dims, unrolls `each`, inlines `def`,
// resolves names, and hands every application of an operation to a sink. The checker walks a
// circuit without a file (lengths are letters, the body of an `each` is walked once, both arms of
// an `if` are walked); binding and the graph builder walk a bound circuit (lengths are numbers, one
// arm, every turn). Shapes are proved by the rules of ops/ in either case, before the sink sees a
// thing.
//
// What a sink gets, for a bound circuit:
//
//   flow(tokens, positions)
//       input("tokens", wire of kind ids, shape []), input("positions", kind positions, shape []),
//       input("hidden", kind real, shape [d_model])
//   a + b, silu(x), clamp(x, lo, hi), softcap(x, c) ...
//       Op::add ... with wires, parts and numbers (is_integer or real) in order. Two numbers are
//       folded before. -x is mul by the number -1. A bound of clamp may be of kind none. softcap by
//       none or 0 is dropped: its wire passes through.
//   linear(x, W)
//       Op::linear (wire, part or wire). W is a part of rank 2; of rank 3: one matrix per first
//       index of x; `element` >= 0: that one matrix of a stack. The bias beside a part belongs to
//       it (Operand::has_bias, BoundPart::bias); likewise rmsnorm, layernorm (x, [weight,] eps)
//       and conv1d (x, weight, state). Operand::has_scale: the product times BoundPart::scale.
//   embed(t, ids)
//       Op::embed (part or wire, wire of kind ids or positions)
//   heads merge transpose split x[i] x[a..b] repeat zeros concat stack matmul
//       as written. Lengths are numbers with is_integer; the sizes of split are Kind::numbers and
//       it has as many results; x[i] is Op::index (x, number), x[a..b] Op::slice (x, number,
//       number), where x may be a part (token_types[0]). An operand of shape [d] of stack, repeat
//       and matmul counts as [1, d].
//   rope(x, r)
//       Op::rope (wire, rotary: id in Binding::rotaries), attribute inverse
//   attention(q, ...)
//       Op::attention; states are Kind::state, id in Binding::states. What follows q tells the
//       form: (q, k, v, cache) (q, k, latents) (q, cache) (q, k, v). Attributes as written; those
//       whose value is none or an absent optional part, and a window or chunk of 0, are left out.
//   append select conv1d shift linear_attention compress
//       likewise; append has no result
//   route(s, ...)
//       Op::route -> wire of kind experts, shape [top]
//   pool(x, kind)
//       Op::pool (wire, symbol) -> a wire whose type.row is sequence. pool(x, none) is x.
//   mix e in r { body }
//       Nothing at the brace. In the body, wires that depend on e carry a leading axis of n_used
//       slots; wires from outside have none. linear(x, stack[e / n]) arrives as Op::linear_experts
//       (x, experts, stack: part with chosen and divisor; the stack's bias too). Where a wire with
//       slots meets one of higher rank without, heads(x, 1) has made room between. At the end
//       Op::mix (y, experts) drops the axis. mix e, w: Op::expert_weights (experts) -> [n_used, 1]
//       gives w, and Op::mix has the attribute plain = true.
//   c ? a : b, if, each, def
//       nothing: only what is chosen is walked
//   name = value
//       named(wire, "q") after the application that made it; again if it is renamed
//   -> logits, hidden
//       output("logits", wire) at the end, in the order of the list; an unassigned `name?` is left
//       out
//
// Wires are numbered from 0 in the order of their making; a wire is applied before it is used.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "circuit/ast.h"
#include "circuit/binding.h"
#include "ops/operand.h"

namespace etch {

struct Application {
  Op op;
  std::span<const Operand> arguments;        // positional
  std::span<const NamedOperand> attributes;  // in the order of ops.def
  std::span<const Operand> results;          // wires
  Location at;                               // in the circuit's text
  int layer = -1;                            // value of the innermost loop variable

  const Operand* attribute(std::string_view name) const;
};

class FlowSink {
 public:
  virtual ~FlowSink() = default;
  virtual void input(const Operand& wire, std::string_view name) = 0;
  virtual Status apply(const Application& application) = 0;
  virtual void named(const Operand& /*wire*/, std::string_view /*name*/) {}
  virtual void output(const Operand& wire, std::string_view name) = 0;
};

// Walks a flow ("" is the main one) of a bound circuit. Errors are mistakes that only numbers show;
// a binding made by bind() has none left.
Status walk_flow(const Binding& binding, std::string_view flow, FlowSink& sink);

}  // namespace etch
