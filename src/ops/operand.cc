#include "ops/operand.h"

#include "base/check.h"

namespace etch {
namespace {

constexpr std::string_view kTypeKinds[] = {"real", "ids", "positions", "experts", "selection"};
constexpr std::string_view kStateKinds[] = {"cache", "latents", "index", "last", "matrix"};
constexpr std::string_view kOperandKinds[] = {"none",   "wire", "part",  "number", "truth",
                                              "symbol", "list", "state", "rotary"};

}  // namespace

std::string_view name(Type::Kind kind) { return kTypeKinds[static_cast<int>(kind)]; }
std::string_view name(StateType::Kind kind) { return kStateKinds[static_cast<int>(kind)]; }
std::string_view name(Operand::Kind kind) { return kOperandKinds[static_cast<int>(kind)]; }

std::string print(const Shape& shape) {
  std::string s;
  for (const Polynomial& p : shape) s += (s.empty() ? "" : ", ") + p.print();
  return "[" + s + "]";
}

std::vector<int64_t> numbers(const Shape& shape) {
  std::vector<int64_t> out;
  for (const Polynomial& p : shape) {
    ETCH_CHECK(p.is_constant() && !p.overflowed(), "length {}", p.print());
    out.push_back(p.constant());
  }
  return out;
}

}  // namespace etch
