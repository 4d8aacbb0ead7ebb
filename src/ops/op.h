// The operations of circuits and graphs: names, arity, attributes. ops.def is the list.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace etch {

enum class Op : uint8_t {
#define OP(op, spelled, family, fewest, most) op,
#include "ops/ops.def"
};

enum class OpFamily : uint8_t { elementwise, rows, view, mixing, graph };

// Values of attributes that are words: mask: full, score: sigmoid, repeat(.., tile), pool(..,
// mean), layout: pairs.
enum class Symbol : uint8_t {
  pairs,
  halves,
  causal,
  full,
  none,
  softmax,
  sigmoid,
  sqrt_softplus,
  mean,
  first,
  last,
  tile,
  interleave,
  before
};
std::string_view name(Symbol s);
std::optional<Symbol> symbol_of_name(std::string_view name);

enum class AttributeType : uint8_t { number, truth, symbol, wire, state, selection };
struct AttributeInfo {
  std::string_view name;
  AttributeType type = AttributeType::number;
  bool needed = false;
};

struct OpInfo {
  Op op;
  std::string_view name;     // the enumerator, as dumps spell it: "add"
  std::string_view spelled;  // as circuits spell it: "+"
  OpFamily family;
  int fewest, most;  // positional arguments
  std::span<const AttributeInfo> attributes;
};

// The words that a symbol attribute may be: mask: causal, full.
std::span<const Symbol> words_of(Op op, std::string_view attribute);

std::span<const OpInfo> all_ops();
const OpInfo& info(Op op);
inline std::string_view name(Op op) { return info(op).name; }
std::optional<Op> op_of_spelling(
    std::string_view spelled);  // operations that circuits may call by name

}  // namespace etch
