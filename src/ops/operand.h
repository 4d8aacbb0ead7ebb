// What stands between an operation's parentheses, and what comes out: wires with their types,
// parts, numbers, words, states, rotaries. Lengths are polynomials; in a bound circuit all of them
// are constants.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ops/op.h"
#include "ops/polynomial.h"

namespace etch {

using Shape = std::vector<Polynomial>;
std::string print(const Shape& shape);             // "[n_heads, d_head]"
std::vector<int64_t> numbers(const Shape& shape);  // of a shape without unknowns

struct Type {
  // ids: int32. positions: integers that count as numbers in arithmetic. experts: pairs of an id
  // and a weight, shape [top].
  enum class Kind : uint8_t { real, ids, positions, experts, selection };
  // What one row of the wire belongs to: a token; a block of tokens behind `compress`; a sequence
  // behind `pool`.
  enum class Row : uint8_t { token, block, sequence };
  Kind kind = Kind::real;
  Row row = Row::token;
  Shape shape;  // of one row; empty: a scalar
};
std::string_view name(Type::Kind kind);

struct StateType {
  enum class Kind : uint8_t { cache, latents, index, last, matrix };
  Kind kind = Kind::cache;
  Polynomial n, d_k, d_v;  // last(n, d): n and d_k; latents(d, d_v): n = 1
  Polynomial block;        // positions per entry; 0: one each
};
std::string_view name(StateType::Kind kind);

struct Operand {
  enum class Kind : uint8_t { none, wire, part, number, truth, symbol, numbers, state, rotary };
  Kind kind = Kind::none;
  std::string name;  // as the circuit calls it: "h", "attn_q", "kv"; "" for a longer expression
  // wire: its number in this walk. part, state, rotary: index into Binding::parts, states,
  // rotaries. -1 where the circuit is walked without a file.
  int id = -1;
  Type type;  // of a wire; of a part (its declared shape; for one matrix of a stack that matrix's)

  // part: one matrix (or row) of it. -1: all of it. A stack indexed inside `mix` has `chosen`
  // instead.
  int64_t element = -1;
  bool chosen = false;  // W[e] or W[e / divisor], e being the expert of the enclosing mix
  int64_t divisor = 1;
  bool has_scale = false;  // bound: BoundPart::scale multiplies the product before the bias
  bool has_bias = false;   // declared (or, bound: present)

  // number. Integers have `length` (and `real` if they are constant); what is not known before
  // binding has known = false.
  bool is_integer = false, known = true;
  double real = 0;
  Polynomial length;

  bool truth = false;
  Symbol symbol = Symbol::none;
  Shape numbers;
  StateType state;
  Polynomial rotary_dims;

  bool is_wire() const { return kind == Kind::wire; }
  bool is_part() const { return kind == Kind::part; }
  bool is_number() const { return kind == Kind::number; }
};
std::string_view name(Operand::Kind kind);

struct NamedOperand {
  std::string_view name;  // of ops.def
  Operand value;
};

}  // namespace etch
