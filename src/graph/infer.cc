#include "graph/infer.h"

#include <algorithm>

namespace etch {
namespace {

using Shape = std::vector<int64_t>;

// Far beyond any machine's memory, and far from the overflow of a byte count.
constexpr int64_t kMostElements = int64_t{1} << 46;

// What an inference sees: the node, its inputs, and a way to say no.
struct Case {
  const Graph& graph;
  const Node& node;

  const Value& in(int i) const { return graph.value(node.inputs[static_cast<size_t>(i)]); }
  const Shape& shape(int i) const { return in(i).shape; }
  int n_arguments() const { return node.n_arguments(); }
  const StateInfo* state() const {
    return node.state() < 0 ? nullptr : &graph.states[static_cast<size_t>(node.state())];
  }
  const Value* named(std::string_view name) const {
    const ValueId v = node.wire(name);
    return v == kNoValue ? nullptr : &graph.value(v);
  }

  template <class... Args>
  tl::unexpected<Error> no(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorKind::usage, "{}: {}", name(node.op),
                fmt::format(format, std::forward<Args>(args)...));
  }
};

bool same_or_one(int64_t a, int64_t b) { return a == b || a == 1 || b == 1; }

// Shapes aligned at the last axis; lengths equal or 1.
Result<Shape> broadcast(const Case& c, const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    if (!same_or_one(longer[offset + i], shorter[i]))
      return c.no("{} and {} do not fit together", print_shape(a), print_shape(b));
    if (shorter[i] != 1) result[offset + i] = shorter[i];
  }
  return result;
}

bool ends_with(const Shape& x, const Shape& tail) {
  return tail.size() <= x.size() && std::equal(tail.rbegin(), tail.rend(), x.rbegin());
}

Shape with_last(Shape shape, int64_t last) {
  shape.back() = last;
  return shape;
}

Shape without_first(const Shape& shape) { return {shape.begin() + 1, shape.end()}; }

Shape with_first(int64_t first, const Shape& rest) {
  Shape shape = {first};
  shape.insert(shape.end(), rest.begin(), rest.end());
  return shape;
}

// Elements of a shape; -1 where it is no shape of anything.
int64_t product(const Shape& shape) {
  int64_t elements = 1;
  for (const int64_t length : shape)
    if (length < 1 || __builtin_mul_overflow(elements, length, &elements)) return -1;
  return elements;
}

Status want_rank(const Case& c, int i, size_t fewest, size_t most) {
  const size_t rank = c.shape(i).size();
  if (rank >= fewest && rank <= most) return {};
  return c.no("argument {} has the shape {}; {} to {} axes are wanted", i + 1,
              print_shape(c.shape(i)), fewest, most);
}

Status want_state(const Case& c, std::initializer_list<StateInfo::Kind> kinds) {
  const StateInfo* state = c.state();
  if (!state) return c.no("a state is needed");
  if (std::find(kinds.begin(), kinds.end(), state->kind) == kinds.end())
    return c.no("state {} is of another kind", state->name);
  return {};
}

// ---- rows: once gives way to anything; two other kinds do not mix.

struct RowsOfValue {
  Rows rows = Rows::once;
  int64_t block = 0;
};

Result<RowsOfValue> rows_of_inputs(const Case& c) {
  RowsOfValue result;
  if (c.node.op == Op::select)
    return RowsOfValue{c.in(0).rows, c.in(0).block};  // keys may be blocks
  for (const ValueId v : c.node.inputs) {
    const Value& value = c.graph.value(v);
    if (value.rows == Rows::once) continue;
    if (result.rows == Rows::once) {
      result = {value.rows, value.block};
    } else if (result.rows != value.rows || result.block != value.block) {
      return c.no("its arguments have different rows: {} and {}", name(result.rows),
                  name(value.rows));
    }
  }
  return result;
}

// ---- one function per family of shapes

Result<Shape> elementwise(const Case& c) {
  if (c.n_arguments() == 1) return c.shape(0);
  return broadcast(c, c.shape(0), c.shape(1));
}

// Ids stay ids under % and / by an integer; positions are numbers in arithmetic.
bool keeps_ids(const Case& c) {
  const bool integer_step = c.node.op == Op::mod || c.node.op == Op::div;
  const AttributeValue* right = c.node.find("right");
  if (!integer_step || !right || !std::holds_alternative<int64_t>(*right)) return false;
  const Node& maker = c.graph.maker(c.node.inputs[0]);
  const AttributeValue* input = maker.find("name");
  const bool positions = maker.op == Op::input && input && *input == AttributeValue("positions");
  return c.node.op == Op::mod || !positions;
}

Result<Shape> norm(const Case& c) {
  ETCH_TRY(want_rank(c, 0, 1, kMostAxes));
  for (const char* name : {"weight", "bias"})
    if (const Value* w = c.named(name); w && !ends_with(c.shape(0), w->shape))
      return c.no("the {} {} is not the end of {}", name, print_shape(w->shape),
                  print_shape(c.shape(0)));
  return c.shape(0);
}

Result<Shape> linear(const Case& c) {
  ETCH_TRY(want_rank(c, 0, 1, kMostAxes));
  ETCH_TRY(want_rank(c, 1, 2, 3));
  const Shape& x = c.shape(0);
  const Shape& w = c.shape(1);
  const bool stack = w.size() == 3;
  if (x.back() != w.back() || (stack && (x.size() != 2 || x[0] != w[0])))
    return c.no("rows of {} meet a weight of {}", print_shape(x), print_shape(w));
  Shape y = with_last(x, w[w.size() - 2]);
  if (const Value* bias = c.named("bias"); bias && !ends_with(y, bias->shape))
    return c.no("the bias {} is not the end of {}", print_shape(bias->shape), print_shape(y));
  return y;
}

Result<Shape> linear_experts(const Case& c) {
  ETCH_TRY(want_rank(c, 0, 1, kMostAxes));
  ETCH_TRY(want_rank(c, 2, 3, 3));
  const Shape& x = c.shape(0);
  const Shape& w = c.shape(2);
  const int64_t top = c.shape(1)[0];
  if (x.back() != w.back() || (x.size() > 1 && x[0] != top))
    return c.no("{} experts with matrices {} meet {}", top, print_shape(w), print_shape(x));
  if (c.node.integer("divisor", 1) < 1) return c.no("the divisor must be positive");
  return x.size() == 1 ? Shape{top, w[1]} : with_last(x, w[1]);
}

Result<Shape> matmul(const Case& c) {
  ETCH_TRY(want_rank(c, 0, 1, 2));
  ETCH_TRY(want_rank(c, 1, 2, 2));
  const Shape& a = c.shape(0);
  const Shape& b = c.shape(1);
  if (a.back() != b[0]) return c.no("{} times {}", print_shape(a), print_shape(b));
  return with_last(a, b[1]);
}

Result<Shape> reshape(const Case& c, Shape shape) {
  if (product(shape) != product(c.shape(0)))
    return c.no("{} has not as many elements as {}", print_shape(c.shape(0)), print_shape(shape));
  return shape;
}

Result<Shape> heads(const Case& c) {
  ETCH_TRY(want_rank(c, 0, 1, kMostAxes - 1));
  const int64_t n = c.node.integer("n");
  const Shape& x = c.shape(0);
  if (n < 1 || x.back() % n != 0) return c.no("{} entries do not make {} heads", x.back(), n);
  Shape y = with_last(x, n);
  y.push_back(x.back() / n);
  return y;
}

Result<Shape> merge(const Case& c) {
  ETCH_TRY(want_rank(c, 0, 2, kMostAxes));
  Shape y = c.shape(0);
  const int64_t last = y.back();
  y.pop_back();
  y.back() *= last;
  return y;
}

Result<Shape> permute(const Case& c) {
  const std::vector<int64_t> axes = c.node.integers("axes");
  const Shape& x = c.shape(0);
  Shape y, seen(x.size(), 0);
  for (const int64_t axis : axes) {
    if (axis < 0 || axis >= static_cast<int64_t>(x.size()) || seen[static_cast<size_t>(axis)]++)
      return c.no("the axes {} are no order of {}", print_shape(axes), print_shape(x));
    y.push_back(x[static_cast<size_t>(axis)]);
  }
  if (y.size() != x.size()) return c.no("every axis must be named once");
  return y;
}

Result<Shape> view(const Case& c) {
  const std::vector<int64_t> starts = c.node.integers("starts");
  const Shape shape = c.node.integers("shape");
  const Shape& x = c.shape(0);
  if (starts.size() != x.size() || shape.size() != x.size())
    return c.no("a start and a length for each axis of {} are wanted", print_shape(x));
  for (size_t i = 0; i < x.size(); ++i)
    if (starts[i] < 0 || shape[i] < 1 || starts[i] > x[i] || shape[i] > x[i] - starts[i])
      return c.no("{} from {} does not lie inside {}", print_shape(shape), print_shape(starts),
                  print_shape(x));
  return shape;
}

Result<Shape> first_axis(const Case& c) {
  ETCH_TRY(want_rank(c, 0, 1, kMostAxes));
  const Shape& x = c.shape(0);
  const bool one = c.node.op == Op::index;
  const int64_t first = c.node.integer(one ? "at" : "first");
  const int64_t last = one ? first + 1 : c.node.integer("last");
  if (first < 0 || first >= last || last > x[0])
    return c.no("{}..{} is not inside 0..{}", first, last, x[0]);
  return one ? without_first(x) : with_first(last - first, without_first(x));
}

Result<Shape> concat(const Case& c) {
  Shape lead;
  int64_t last = 0;
  for (int i = 0; i < c.n_arguments(); ++i) {
    ETCH_TRY(want_rank(c, i, 1, kMostAxes));
    lead = ETCH_TRY(broadcast(c, lead, Shape(c.shape(i).begin(), c.shape(i).end() - 1)));
    last += c.shape(i).back();
  }
  lead.push_back(last);
  return lead;
}

Shape as_rows(const Shape& x) { return x.size() == 1 ? with_first(1, x) : x; }

Result<Shape> stack(const Case& c) {
  Shape y;
  for (int i = 0; i < c.n_arguments(); ++i) {
    ETCH_TRY(want_rank(c, i, 1, kMostAxes));
    const Shape x = as_rows(c.shape(i));
    if (i == 0) {
      y = x;
    } else if (without_first(x) != without_first(y)) {
      return c.no("{} does not stand below {}", print_shape(x), print_shape(y));
    } else {
      y[0] += x[0];
    }
  }
  return y;
}

Result<Shape> repeat(const Case& c) {
  ETCH_TRY(want_rank(c, 0, 1, kMostAxes));
  const int64_t n = c.node.integer("n");
  if (n < 1) return c.no("{} times", n);
  Shape y = as_rows(c.shape(0));
  y[0] *= n;
  return y;
}

Result<Shape> embed(const Case& c) {
  ETCH_TRY(want_rank(c, 0, 2, 2));
  const Value& ids = c.in(1);
  if (ids.kind != Value::Kind::ids && ids.kind != Value::Kind::experts)
    return c.no("the second argument must be ids");
  Shape y = ids.shape;
  y.push_back(c.shape(0)[1]);
  return y;
}

// q [.., nq, dk], k [.., n, dk], v [.., n, dv]: the leading axis only where there are no rows.
Result<Shape> attention(const Case& c, Rows rows) {
  const size_t rank = rows == Rows::once ? 3 : 2;
  const int n = c.n_arguments();
  const StateInfo* state = c.state();
  for (int i = 0; i < n; ++i) ETCH_TRY(want_rank(c, i, i == 0 ? rank : 1, rank));
  const Shape& q = c.shape(0);
  const int64_t n_q = q[rank - 2];
  int64_t n_kv, d_k, d_v;
  if (state) {
    ETCH_TRY(want_state(c, {StateInfo::Kind::cache, StateInfo::Kind::latents}));
    const bool latents = state->kind == StateInfo::Kind::latents;
    n_kv = latents ? 1 : state->n;
    d_k = state->d_k;
    d_v = state->d_v;
    if (n != 1 && n != (latents ? 2 : 3)) return c.no("{} arguments with state {}", n, state->name);
    if (n > 1 && product(c.shape(1)) != n_kv * d_k)
      return c.no("keys {} do not fit {}", print_shape(c.shape(1)), state->name);
    if (n > 2 && product(c.shape(2)) != n_kv * d_v)
      return c.no("values {} do not fit {}", print_shape(c.shape(2)), state->name);
  } else {
    if (n != 3) return c.no("keys and values, or a state, are needed");
    ETCH_TRY(want_rank(c, 1, rank, rank));
    ETCH_TRY(want_rank(c, 2, rank, rank));
    n_kv = c.shape(1)[rank - 2];
    d_k = c.shape(1)[rank - 1];
    d_v = c.shape(2)[rank - 1];
    if (c.shape(2)[rank - 2] != n_kv) return c.no("keys and values differ in heads");
    if (rank == 3 && c.shape(1)[0] != c.shape(2)[0]) return c.no("keys and values differ in rows");
  }
  if (q[rank - 1] != d_k) return c.no("queries {} meet keys of {}", print_shape(q), d_k);
  if (n_q % n_kv != 0) return c.no("{} query heads share {} key heads", n_q, n_kv);
  if (const Value* sinks = c.named("sinks"); sinks && sinks->shape != Shape{n_q})
    return c.no("sinks {} for {} heads", print_shape(sinks->shape), n_q);
  if (const Value* bias = c.named("relative"); bias)
    if (bias->shape.size() != 2 || bias->shape[1] != n_q)
      return c.no("relative {} for {} heads", print_shape(bias->shape), n_q);
  if (!c.node.find("scale")) return c.no("the scale is missing");
  return with_last(q, d_v);
}

Status append(const Case& c) {
  ETCH_TRY(
      want_state(c, {StateInfo::Kind::cache, StateInfo::Kind::latents, StateInfo::Kind::index}));
  const StateInfo& state = *c.state();
  if (product(c.shape(0)) != state.n * state.d_k)
    return c.no("keys {} do not fit {}", print_shape(c.shape(0)), state.name);
  const bool values = state.kind == StateInfo::Kind::cache;
  if (values != (c.n_arguments() == 2))
    return c.no("{} arguments for {}", c.n_arguments(), state.name);
  if (values && product(c.shape(1)) != state.n * state.d_v)
    return c.no("values {} do not fit {}", print_shape(c.shape(1)), state.name);
  return {};
}

// One selection for all heads, or, without weights, one for each.
Result<Shape> select(const Case& c) {
  ETCH_TRY(want_state(c, {StateInfo::Kind::index}));
  ETCH_TRY(want_rank(c, 0, 2, 2));
  const StateInfo& state = *c.state();
  if (c.shape(0)[1] != state.d_k || product(c.shape(1)) != state.n * state.d_k)
    return c.no("queries {} and keys {} do not fit {}", print_shape(c.shape(0)),
                print_shape(c.shape(1)), state.name);
  const Value* weights = c.named("weights");
  if (weights && product(weights->shape) != c.shape(0)[0])
    return c.no("weights {} for {} queries", print_shape(weights->shape), c.shape(0)[0]);
  if (c.node.integer("top") < 1) return c.no("top must be at least 1");
  return weights ? Shape{} : Shape{c.shape(0)[0]};
}

Result<Shape> conv1d(const Case& c) {
  ETCH_TRY(want_state(c, {StateInfo::Kind::last}));
  ETCH_TRY(want_rank(c, 0, 1, 1));
  ETCH_TRY(want_rank(c, 1, 2, 2));
  const Shape& w = c.shape(1);
  const int64_t back = (w[1] - 1) * c.node.integer("dilation", 1);
  if (w[0] != c.shape(0)[0] || c.state()->d_k != w[0] || c.state()->n != back)
    return c.no("{} with a weight of {} and {}", print_shape(c.shape(0)), print_shape(w),
                c.state()->name);
  return c.shape(0);
}

Result<Shape> shift(const Case& c) {
  ETCH_TRY(want_state(c, {StateInfo::Kind::last}));
  if (c.state()->n != 1 || c.state()->d_k != product(c.shape(0)))
    return c.no("{} and {}", print_shape(c.shape(0)), c.state()->name);
  return c.shape(0);
}

Result<Shape> linear_attention(const Case& c) {
  ETCH_TRY(want_state(c, {StateInfo::Kind::matrix}));
  for (int i = 0; i < 3; ++i) ETCH_TRY(want_rank(c, i, 2, 2));
  const StateInfo& s = *c.state();
  const Shape &q = c.shape(0), &k = c.shape(1), &v = c.shape(2);
  if (q != k || q[1] != s.d_k || s.n % q[0] != 0 || v != Shape{s.n, s.d_v})
    return c.no("q {}, k {}, v {} and {}", print_shape(q), print_shape(k), print_shape(v), s.name);
  const Shape per_head = {s.n}, per_key = {s.n, s.d_k};
  if (const Value* a = c.named("log_decay"); a && a->shape != per_head && a->shape != per_key)
    return c.no("log_decay {} for {}", print_shape(a->shape), s.name);
  if (const Value* b = c.named("beta"); b && product(b->shape) != s.n)
    return c.no("beta {} for {}", print_shape(b->shape), s.name);
  for (const char* name : {"remove", "insert"})
    if (const Value* r = c.named(name); r && r->shape != per_key)
      return c.no("{} {} for {}", name, print_shape(r->shape), s.name);
  if (!c.named("remove") != !c.named("insert")) return c.no("remove and insert belong together");
  return v;
}

// The state holds x and s of the last tokens, side by side.
Result<Shape> compress(const Case& c) {
  ETCH_TRY(want_state(c, {StateInfo::Kind::last}));
  ETCH_TRY(want_rank(c, 0, 1, 1));
  const int64_t block = c.node.integer("block"), width = c.shape(0)[0];
  const bool overlap = c.node.truth("overlap");
  if (block < 1 || c.shape(1) != c.shape(0) || (overlap && width % 2 != 0))
    return c.no("blocks of {} of {} by {}", block, print_shape(c.shape(0)),
                print_shape(c.shape(1)));
  if (c.state()->n < (overlap ? 2 : 1) * block - 1 || c.state()->d_k != 2 * width)
    return c.no("{} must be last({}, {})", c.state()->name, (overlap ? 2 : 1) * block, 2 * width);
  return Shape{overlap ? width / 2 : width};
}

Result<Shape> route(const Case& c) {
  ETCH_TRY(want_rank(c, 0, 1, 1));
  const int64_t n = c.shape(0)[0], top = c.node.integer("top");
  const int64_t groups = c.node.integer("groups", 1), best = c.node.integer("top_groups", groups);
  if (top < 1 || top > n) return c.no("{} of {} experts", top, n);
  if (groups < 1 || n % groups != 0 || best < 1 || best > groups || best * (n / groups) < top)
    return c.no("{} experts in {} groups, {} groups and {} experts chosen", n, groups, best, top);
  if (const Value* bias = c.named("bias"); bias && product(bias->shape) != n)
    return c.no("bias {} for {} experts", print_shape(bias->shape), n);
  if (const Value* chosen = c.named("chosen"))
    if (chosen->kind != Value::Kind::ids || product(chosen->shape) != top)
      return c.no("chosen must be {} ids", top);
  return Shape{top};
}

Result<Shape> mix(const Case& c) {
  ETCH_TRY(want_rank(c, 0, 1, kMostAxes));
  if (c.in(1).kind != Value::Kind::experts || c.shape(0)[0] != c.shape(1)[0])
    return c.no("{} by {} experts", print_shape(c.shape(0)),
                c.shape(1).empty() ? 0 : c.shape(1)[0]);
  return without_first(c.shape(0));
}

Result<Shape> shape_of(const Case& c, Rows rows) {
  switch (c.node.op) {
    case Op::sum:
      ETCH_TRY(want_rank(c, 0, 1, kMostAxes));
      return with_last(c.shape(0), 1);
    case Op::softmax:
    case Op::rmsnorm:
    case Op::layernorm:
    case Op::l2norm:
      return norm(c);
    case Op::embed:
      return embed(c);
    case Op::linear:
      return linear(c);
    case Op::matmul:
      return matmul(c);
    case Op::rope:
      ETCH_TRY(want_rank(c, 0, 1, kMostAxes));
      if (c.node.rotary() < 0) return c.no("a rotary encoding is needed");
      if (const int64_t dims = c.graph.rotaries[static_cast<size_t>(c.node.rotary())].dims;
          dims > c.shape(0).back())
        return c.no("{} entries cannot be turned in {}", dims, print_shape(c.shape(0)));
      return c.shape(0);
    case Op::route:
      return route(c);
    case Op::mix:
      return mix(c);
    case Op::heads:
      return heads(c);
    case Op::merge:
      return merge(c);
    case Op::transpose:
      ETCH_TRY(want_rank(c, 0, 2, 2));
      return Shape{c.shape(0)[1], c.shape(0)[0]};
    case Op::index:
    case Op::slice:
      return first_axis(c);
    case Op::concat:
      return concat(c);
    case Op::stack:
      return stack(c);
    case Op::repeat:
      return repeat(c);
    case Op::zeros:
      return c.node.integers("shape");
    case Op::attention:
      return attention(c, rows);
    case Op::select:
      return select(c);
    case Op::conv1d:
      return conv1d(c);
    case Op::shift:
      return shift(c);
    case Op::linear_attention:
      return linear_attention(c);
    case Op::compress:
      return compress(c);
    case Op::reshape:
      return reshape(c, c.node.integers("shape"));
    case Op::permute:
      return permute(c);
    case Op::view:
      return view(c);
    case Op::linear_experts:
      return linear_experts(c);
    case Op::expert_weights:
      return Shape{product(c.shape(0)), 1};
    case Op::pool:
    case Op::outputs_only:
      return c.shape(0);
    default:
      return elementwise(c);
  }
}

Result<std::vector<Value>> split(const Case& c, Value value) {
  ETCH_TRY(want_rank(c, 0, 1, kMostAxes));
  std::vector<Value> outputs;
  int64_t total = 0;
  for (const int64_t size : c.node.integers("sizes")) {
    if (size < 1) return c.no("a piece of {}", size);
    value.shape = with_last(c.shape(0), size);
    outputs.push_back(value);
    total += size;
  }
  if (total != c.shape(0).back())
    return c.no("pieces of {} do not make {}", total, c.shape(0).back());
  return outputs;
}

Value::Kind kind_of(const Case& c) {
  const auto is_ids = [&](int i) { return c.in(i).kind == Value::Kind::ids; };
  switch (c.node.op) {
    case Op::route:
      return Value::Kind::experts;
    case Op::select:
      return Value::Kind::selection;
    case Op::mod:
    case Op::div:
      return is_ids(0) && keeps_ids(c) ? Value::Kind::ids : Value::Kind::real;
    case Op::outputs_only:
      return c.in(0).kind;
    case Op::embed:
    case Op::reshape:
    case Op::permute:
    case Op::view:
    case Op::index:
    case Op::slice:
    case Op::heads:
    case Op::merge:
      return is_ids(0) ? Value::Kind::ids : Value::Kind::real;
    default:
      return Value::Kind::real;
  }
}

bool is_source(Op op) { return op == Op::input || op == Op::weight || op == Op::constant; }

Status check_axes(const Case& c, const Value& value) {
  if (value.shape.size() > kMostAxes)
    return c.no("the result {} has more than {} axes", print_shape(value.shape), kMostAxes);
  const int64_t elements = product(value.shape);
  if (elements < 1 || elements > kMostElements)
    return c.no("the result {} is empty or too large", print_shape(value.shape));
  return {};
}

}  // namespace

std::string print_shape(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Result<std::vector<Value>> infer(const Graph& graph, const Node& node) {
  const Case c{graph, node};
  std::vector<Value> outputs;
  if (is_source(node.op)) {
    for (const ValueId v : node.outputs) outputs.push_back(graph.value(v));
    return outputs;
  }
  const RowsOfValue in = ETCH_TRY(rows_of_inputs(c));
  if (c.state() && in.rows == Rows::once) return c.no("a state needs tokens");
  Value value{.kind = kind_of(c), .rows = in.rows, .block = in.block};
  if (value.kind == Value::Kind::ids) value.dtype = DType::i32;
  switch (node.op) {
    case Op::append:
      ETCH_TRY(append(c));
      return outputs;
    case Op::split:
      return split(c, value);
    case Op::outputs_only:
      if (in.rows == Rows::tokens) value.rows = Rows::outputs;
      break;
    case Op::pool:
      if (node.symbol("kind", Symbol::none) != Symbol::none) value.rows = Rows::sequences;
      break;
    case Op::compress:
      value.rows = Rows::blocks;
      value.block = node.integer("block");
      break;
    default:
      break;
  }
  value.shape = ETCH_TRY(shape_of(c, in.rows));
  ETCH_TRY(check_axes(c, value));
  outputs.push_back(value);
  return outputs;
}

}  // namespace etch
