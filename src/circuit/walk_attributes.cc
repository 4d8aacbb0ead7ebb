// Attributes of an operation: of what kind each is, and what it may be.
#include <algorithm>

#include "circuit/walker.h"

namespace etch {
namespace {

std::string_view article(std::string_view word) {
  return word == "ids" || word == "experts" || word == "none" ? "" : word == "index" ? "an " : "a ";
}

}  // namespace

// One attribute. Those whose value is none, or a window or chunk of 0, are left out.
bool Walker::attribute(const Expr& call, const Argument& a, const AttributeInfo& info, Op op,
                       std::vector<NamedOperand>& out) {
  const Expr& value = *a.value;
  const bool plain_part =
      value.kind == Expr::Kind::name && !frame_.contains(value.text) && parts_.contains(value.text);
  const FlowValue v = plain_part
                          ? part(value.text, nullptr, value.at, info.type == AttributeType::wire)
                          : evaluate(value);
  if (is_wrong(v)) return false;
  if (is_none(v) || ((info.name == "window" || info.name == "chunk") && is_zero(v))) return true;
  Operand o = to_operand(v);
  if (o.kind == Operand::Kind::none && v.kind == FlowValue::Kind::operand)
    return true;  // an optional part that the file does not have
  if (info.type == AttributeType::truth && o.is_number() && o.is_integer && o.known) {
    o.kind = Operand::Kind::truth;  // a key that stores 0 or 1
    o.truth = o.real != 0;
  }
  const std::string misfit =
      o.kind == Operand::Kind::none
          ? fmt::format("'{}' of {} cannot be {}", info.name, call.text, print(v.dim))
          : misfit_of(call.text, op, info, o);
  if (!misfit.empty()) {
    wrong(value.at, misfit);
    return false;
  }
  if (info.type == AttributeType::state) used_states.insert(state_of(o));
  out.push_back({info.name, std::move(o)});
  return true;
}

// What is wrong with the value of an attribute, or "".
std::string Walker::misfit_of(std::string_view call, Op op, const AttributeInfo& info,
                              const Operand& o) const {
  const bool unknown = o.is_number() && !o.known;
  switch (info.type) {
    case AttributeType::number:
      if (!o.is_number()) return fmt::format("'{}' of {} is a number", info.name, call);
      if (o.known && o.real < 0 && info.name != "scale")
        return fmt::format("'{}' of {} cannot be negative", info.name, call);
      return "";
    case AttributeType::truth:
      if (o.kind != Operand::Kind::truth && !unknown)
        return fmt::format("'{}' of {} is true or false", info.name, call);
      return "";
    case AttributeType::symbol: {
      const std::span<const Symbol> words = words_of(op, info.name);
      const bool fits = o.kind == Operand::Kind::symbol &&
                        std::find(words.begin(), words.end(), o.symbol) != words.end();
      if (fits || unknown) return "";
      std::string list;
      for (const Symbol s : words) list += (list.empty() ? "" : ", ") + std::string(name(s));
      return fmt::format("'{}' is one of {}", info.name, list);
    }
    case AttributeType::wire: {
      if (!o.is_wire() && !o.is_part())
        return fmt::format("'{}' of {} is a wire or a part, this is {}{}", info.name, call,
                           article(name(o.kind)), name(o.kind));
      const bool ids = info.name == "chosen";
      const bool kind_fits = ids ? o.type.kind == Type::Kind::ids ||
                                       (dims_.symbolic() && o.type.kind == Type::Kind::real)
                                 : o.type.kind == Type::Kind::real;
      if (!kind_fits)
        return (fmt::format("'{}' of {} cannot be {}", info.name, call, name(o.type.kind)));
      return "";
    }
    case AttributeType::state:
      if (o.kind != Operand::Kind::state)
        return fmt::format("'{}' of {} is a state", info.name, call);
      return "";
    case AttributeType::selection:
      if (!o.is_wire() || o.type.kind != Type::Kind::selection)
        return fmt::format("'{}' of {} comes from select", info.name, call);
      return "";
  }
  return "";
}

}  // namespace etch
