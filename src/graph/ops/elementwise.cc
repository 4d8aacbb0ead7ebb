// a + b, silu(x), clamp(x, lo, hi) ...: one element at a time, one rounding each. Functions of libm
// are taken in double and rounded once.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "graph/ops/operations.h"

namespace etch::plain {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double of_one(Op op, double x) {
  switch (op) {
    case Op::silu:
      return x * sigmoid(x);
    case Op::gelu:
      return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case Op::gelu_tanh:
      return 0.5 * x *
             (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Op::relu:
      return x > 0 ? x : 0;
    case Op::sigmoid:
      return sigmoid(x);
    case Op::tanh:
      return std::tanh(x);
    case Op::exp:
      return std::exp(x);
    case Op::ln:
      return std::log(x);
    case Op::sqrt:
      return std::sqrt(x);
    case Op::floor:
      return std::floor(x);
    case Op::square:
      return x * x;
    case Op::softplus:
      return x > 20 ? x : std::log1p(std::exp(x));
    default:
      return x;
  }
}

template <class T>
T of_two(Op op, T a, T b) {
  switch (op) {
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul:
      return a * b;
    case Op::div:
      return a / b;
    default:  // mod: with the sign of the divisor, as ids have it
      return a - std::floor(a / b) * b;
  }
}

template <class T>
T of_one(const Frame<T>& f, T x) {
  if (f.node->op == Op::clamp) {
    if (f.node->find("lo")) x = std::max(x, f.number("lo"));
    if (f.node->find("hi")) x = std::min(x, f.number("hi"));
    return x;
  }
  if (f.node->op == Op::softcap) {
    const double cap = f.number("cap");
    return static_cast<T>(cap * std::tanh(x / cap));
  }
  return static_cast<T>(of_one(f.node->op, static_cast<double>(x)));
}

bool has_number(const Node& node, std::string_view side) {
  const AttributeValue* value = node.find(side);
  return value && !std::holds_alternative<std::monostate>(*value);
}

// Ids under / and % by an integer: floor division.
template <class T>
void step_ids(Frame<T>& f) {
  const Wire<T>& x = f.in(0);
  const int64_t by = f.node->integer("right");
  Wire<T>& y = f.out();
  for (size_t i = 0; i < x.ids.size(); ++i) {
    const int64_t id = x.ids[i];
    const int64_t quotient = id / by - (id % by < 0);
    y.ids[i] = static_cast<int32_t>(f.node->op == Op::div ? quotient : id - quotient * by);
  }
}

// Where element i of a row of the result finds its element in a row of an argument: axes are
// aligned at the last one, those of length 1 repeat.
std::vector<int64_t> places(const std::vector<int64_t>& result,
                            const std::vector<int64_t>& argument) {
  std::vector<int64_t> places = {0};
  int64_t stride = 1;
  // From the last axis outwards: each new axis puts `length` copies of the inner pattern one after
  // another, `stride` apart, or all at the same place.
  for (size_t back = 1; back <= result.size(); ++back) {
    const int64_t length = result[result.size() - back];
    const int64_t own = back <= argument.size() ? argument[argument.size() - back] : 1;
    const std::vector<int64_t> inner = places;
    places.clear();
    for (int64_t i = 0; i < length; ++i)
      for (const int64_t place : inner) places.push_back(place + (own == 1 ? 0 : i * stride));
    stride *= own;
  }
  return places;
}

// An argument as numbers: a wire (ids count as numbers) with its places, or a constant.
template <class T>
struct Argument {
  const Wire<T>* wire = nullptr;
  std::vector<int64_t> place;
  T number = 0;

  T at(int64_t row, int64_t i) const {
    if (!wire) return number;
    const size_t at = static_cast<size_t>(wire->at(row) + place[static_cast<size_t>(i)]);
    return wire->real.empty() ? static_cast<T>(static_cast<float>(wire->ids[at])) : wire->real[at];
  }
};

}  // namespace

template <class T>
Status elementwise(Frame<T>& f) {
  const Node& node = *f.node;
  const bool two = info(node.op).fewest == 2 && node.op != Op::softcap;
  if (f.out_type().kind == Value::Kind::ids) {
    if (f.node->integer("right") <= 0)
      return fail(ErrorKind::unsupported, "{}: ids by {}", name(node.op), node.integer("right"));
    step_ids(f);
    return {};
  }
  int next = 0;
  const auto argument = [&](std::string_view number) {
    if (has_number(node, number)) return Argument<T>{.number = f.number(number)};
    const int i = next++;
    return Argument<T>{&f.in(i), places(f.out_type().shape, f.type(i).shape)};
  };
  const Argument<T> a = argument("left");
  const Argument<T> b = two ? argument("right") : Argument<T>{};
  Wire<T>& y = f.out();
  for (int64_t r = 0; r < y.rows; ++r)
    for (int64_t i = 0; i < y.width; ++i)
      y.row(r)[i] = two ? of_two(node.op, a.at(r, i), b.at(r, i)) : of_one(f, a.at(r, i));
  return {};
}

ETCH_BOTH_PRECISIONS(elementwise);

}  // namespace etch::plain
