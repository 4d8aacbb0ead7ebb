#include "ops/op.h"

#include <array>

namespace etch {
namespace {

constexpr std::string_view kSymbols[] = {"pairs",   "halves",  "causal",        "full",  "none",
                                         "softmax", "sigmoid", "sqrt_softplus", "mean",  "first",
                                         "last",    "tile",    "interleave",    "before"};

struct Row {
  Op op;
  AttributeInfo attribute;
};
constexpr Row kAttributes[] = {
#define ATTRIBUTE(op, name, type, needed) {Op::op, {#name, AttributeType::type, needed}},
#include "ops/ops.def"
};
constexpr size_t kCount = sizeof(kAttributes) / sizeof(Row);

constexpr auto kFlat = [] {
  std::array<AttributeInfo, kCount> flat{};
  for (size_t i = 0; i < kCount; ++i) flat[i] = kAttributes[i].attribute;
  return flat;
}();

// The attributes of an operation stand together in ops.def.
constexpr std::span<const AttributeInfo> attributes_of(Op op) {
  size_t first = 0;
  while (first < kCount && kAttributes[first].op != op) ++first;
  size_t last = first;
  while (last < kCount && kAttributes[last].op == op) ++last;
  return {kFlat.data() + first, last - first};
}

constexpr OpInfo kOps[] = {
#define OP(op, spelled, family, fewest, most) \
  {Op::op, #op, spelled, OpFamily::family, fewest, most, attributes_of(Op::op)},
#include "ops/ops.def"
};

}  // namespace

std::span<const Symbol> words_of(Op op, std::string_view attribute) {
  static constexpr Symbol kMasks[] = {Symbol::causal, Symbol::full};
  static constexpr Symbol kScores[] = {Symbol::softmax, Symbol::sigmoid, Symbol::sqrt_softplus};
  static constexpr Symbol kReads[] = {Symbol::before};
  if (op == Op::attention && attribute == "mask") return kMasks;
  if (op == Op::route && attribute == "score") return kScores;
  if (op == Op::linear_attention && attribute == "read") return kReads;
  return {};
}

std::span<const OpInfo> all_ops() { return kOps; }
const OpInfo& info(Op op) { return kOps[static_cast<size_t>(op)]; }

std::optional<Op> op_of_spelling(std::string_view spelled) {
  for (const OpInfo& i : kOps)
    if (i.family != OpFamily::graph && i.spelled == spelled) return i.op;
  return std::nullopt;
}

std::string_view name(Symbol s) { return kSymbols[static_cast<size_t>(s)]; }
std::optional<Symbol> symbol_of_name(std::string_view name) {
  for (size_t i = 0; i < std::size(kSymbols); ++i)
    if (kSymbols[i] == name) return static_cast<Symbol>(i);
  return std::nullopt;
}

}  // namespace etch
