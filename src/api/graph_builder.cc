// GraphBuilder and TensorGraph of etch.hpp: thin over graph/, lower/ and session/.
#include <etch/etch.hpp>

#include <algorithm>
#include <limits>

#include "base/team.h"
#include "graph/builder.h"
#include "graph/infer.h"
#include "graph/passes.h"
#include "lower/lower.h"
#include "session/session.h"

namespace etch {
namespace {

Outcome outcome_of(const Error& error) { return {static_cast<int32_t>(error.kind), error.message}; }

Tensor handle(ValueId v) { return {v}; }

std::vector<ValueId> ids_of(std::initializer_list<Tensor> tensors) {
  std::vector<ValueId> ids;
  for (const Tensor t : tensors) ids.push_back(t.id);
  return ids;
}

// 0 where row i sees row j, -infinity where not.
std::vector<float> mask_of(int64_t n_rows, int64_t n_seen, const AttentionOptions& options) {
  std::vector<float> mask;
  for (int64_t i = 0; i < n_rows; ++i)
    for (int64_t j = 0; j < n_seen; ++j) {
      const bool later = options.causal && j > i;
      const bool far =
          options.window > 0 &&
          (options.causal ? i - j >= options.window : 2 * std::abs(i - j) > options.window);
      mask.push_back(later || far ? -std::numeric_limits<float>::infinity() : 0.0f);
    }
  return mask;
}

// Any number of pieces under one another; an operation takes 64.
ValueId stacked(Builder& b, std::vector<ValueId> pieces) {
  constexpr size_t kMost = 64;
  while (pieces.size() > 1) {
    std::vector<ValueId> joined;
    for (size_t i = 0; i < pieces.size(); i += kMost) {
      const std::vector<ValueId> some(
          pieces.begin() + static_cast<int64_t>(i),
          pieces.begin() + static_cast<int64_t>(std::min(i + kMost, pieces.size())));
      joined.push_back(some.size() == 1 ? some[0] : b.apply(Op::stack, some));
    }
    pieces = std::move(joined);
  }
  return pieces[0];
}

}  // namespace

size_t bytes_of(ElementType type, int64_t rows, int64_t columns) {
  const std::optional<DType> dtype = dtype_of_id(static_cast<uint32_t>(type));
  if (!dtype || rows < 0 || columns < 0 || columns % info(*dtype).block_elements != 0) return 0;
  int64_t bytes = 0;
  if (columns / info(*dtype).block_elements > INT64_MAX / info(*dtype).block_bytes) return 0;
  if (__builtin_mul_overflow(row_bytes(*dtype, columns), rows, &bytes)) return 0;
  return static_cast<size_t>(bytes);
}

// ---- TensorGraph

struct TensorGraph::State {
  std::shared_ptr<const Model> model;  // keeps the file mapped
  std::unique_ptr<Session> session;
};

TensorGraph::TensorGraph() = default;
TensorGraph::TensorGraph(TensorGraph&&) noexcept = default;
TensorGraph& TensorGraph::operator=(TensorGraph&&) noexcept = default;
TensorGraph::~TensorGraph() = default;

std::span<float> TensorGraph::input(std::string_view name) {
  if (!state_) return {};
  return state_->session->input(name).value_or(std::span<float>{});
}

std::span<int32_t> TensorGraph::input_ids(std::string_view name) {
  if (!state_) return {};
  return state_->session->input_ids(name).value_or(std::span<int32_t>{});
}

std::span<const float> TensorGraph::output(std::string_view name) const {
  if (!state_) return {};
  return state_->session->output(name).value_or(std::span<const float>{});
}

Outcome TensorGraph::run() {
  if (!state_) return {static_cast<int32_t>(ErrorKind::usage), "this graph was never built"};
  const Status ran = state_->session->run();
  return ran.has_value() ? Outcome() : outcome_of(ran.error());
}

int64_t TensorGraph::planned_bytes() const { return state_ ? state_->session->memory().total : 0; }

// ---- GraphBuilder

struct GraphBuilder::State {
  explicit State(std::string name) : builder(std::move(name)) {}
  Builder builder;
  std::shared_ptr<const Model> model;

  void fail(std::string message) { builder.fail_with({ErrorKind::usage, std::move(message)}); }
  Builder& operator*() { return builder; }
};

GraphBuilder::GraphBuilder(std::string name) : state_(std::make_unique<State>(std::move(name))) {}
GraphBuilder::GraphBuilder(GraphBuilder&&) noexcept = default;
GraphBuilder& GraphBuilder::operator=(GraphBuilder&&) noexcept = default;
GraphBuilder::~GraphBuilder() = default;

Tensor GraphBuilder::input(std::string_view name, TensorShape shape) {
  return handle(state_->builder.input(std::string(name), Rows::once, std::move(shape)));
}

Tensor GraphBuilder::input_ids(std::string_view name, TensorShape shape) {
  return handle(
      state_->builder.input(std::string(name), Rows::once, std::move(shape), Value::Kind::ids));
}

Tensor GraphBuilder::constant(TensorShape shape, std::span<const float> numbers) {
  return handle(state_->builder.constant(std::vector<float>(numbers.begin(), numbers.end()),
                                         std::move(shape)));
}

Tensor GraphBuilder::weight(ElementType type, TensorShape shape, const void* data, size_t bytes) {
  const std::optional<DType> dtype = dtype_of_id(static_cast<uint32_t>(type));
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i)
    if (shape[i] < 1 || __builtin_mul_overflow(rows, shape[i], &rows)) rows = 0;
  const size_t wanted = dtype && !shape.empty() ? bytes_of(type, rows, shape.back()) : 0;
  if (wanted == 0 || wanted != bytes) {
    state_->fail(fmt::format("a weight of {} {} takes {} bytes, {} are given",
                             dtype ? etch::name(*dtype) : "an unknown type", print_shape(shape),
                             wanted, bytes));
    return {};
  }
  return handle(state_->builder.weight("weight", *dtype, std::move(shape),
                                       static_cast<const uint8_t*>(data)));
}

Outcome GraphBuilder::use_file(const std::string& path) {
  if (state_->model)
    return {static_cast<int32_t>(ErrorKind::usage), "a graph takes weights from one file"};
  Result<Model> model = read_model(path);
  if (!model.has_value()) {
    state_->builder.fail_with(model.error());
    return outcome_of(model.error());
  }
  state_->model = std::make_shared<const Model>(std::move(*model));
  state_->builder.model(state_->model);
  return {};
}

Tensor GraphBuilder::file_weight(std::string_view tensor) {
  const Weight* found = state_->model ? state_->model->find(tensor) : nullptr;
  if (!found) {
    state_->fail(fmt::format("there is no tensor '{}' in the file in use", tensor));
    return {};
  }
  WeightSource source;
  source.data = {.weight = found, .dtype = found->dtype, .shape = found->shape, .offsets = {}};
  const int64_t pieces = found->shape.size() == 3 ? found->shape[0] : 1;
  for (int64_t i = 0; i < pieces; ++i)
    source.data.offsets.push_back(found->offset + found->bytes / pieces * i);
  return handle(state_->builder.weight(found->name, std::move(source)));
}

// clang-format off
Tensor GraphBuilder::add(Tensor a, Tensor b) { return handle((**state_).binary(Op::add, a.id, b.id)); }
Tensor GraphBuilder::sub(Tensor a, Tensor b) { return handle((**state_).binary(Op::sub, a.id, b.id)); }
Tensor GraphBuilder::mul(Tensor a, Tensor b) { return handle((**state_).binary(Op::mul, a.id, b.id)); }
Tensor GraphBuilder::div(Tensor a, Tensor b) { return handle((**state_).binary(Op::div, a.id, b.id)); }
Tensor GraphBuilder::add(Tensor a, float b) { return handle((**state_).binary(Op::add, a.id, double{b})); }
Tensor GraphBuilder::mul(Tensor a, float b) { return handle((**state_).binary(Op::mul, a.id, double{b})); }
Tensor GraphBuilder::silu(Tensor x) { return handle((**state_).unary(Op::silu, x.id)); }
Tensor GraphBuilder::gelu(Tensor x) { return handle((**state_).unary(Op::gelu, x.id)); }
Tensor GraphBuilder::gelu_tanh(Tensor x) { return handle((**state_).unary(Op::gelu_tanh, x.id)); }
Tensor GraphBuilder::relu(Tensor x) { return handle((**state_).unary(Op::relu, x.id)); }
Tensor GraphBuilder::sigmoid(Tensor x) { return handle((**state_).unary(Op::sigmoid, x.id)); }
Tensor GraphBuilder::tanh(Tensor x) { return handle((**state_).unary(Op::tanh, x.id)); }
Tensor GraphBuilder::exp(Tensor x) { return handle((**state_).unary(Op::exp, x.id)); }
Tensor GraphBuilder::ln(Tensor x) { return handle((**state_).unary(Op::ln, x.id)); }
Tensor GraphBuilder::sqrt(Tensor x) { return handle((**state_).unary(Op::sqrt, x.id)); }
Tensor GraphBuilder::floor(Tensor x) { return handle((**state_).unary(Op::floor, x.id)); }
Tensor GraphBuilder::square(Tensor x) { return handle((**state_).unary(Op::square, x.id)); }
Tensor GraphBuilder::softplus(Tensor x) { return handle((**state_).unary(Op::softplus, x.id)); }
Tensor GraphBuilder::softcap(Tensor x, float cap) { return handle((**state_).softcap(x.id, cap)); }
Tensor GraphBuilder::sum(Tensor x) { return handle((**state_).unary(Op::sum, x.id)); }
Tensor GraphBuilder::softmax(Tensor x) { return handle((**state_).unary(Op::softmax, x.id)); }
Tensor GraphBuilder::l2norm(Tensor x, float eps) { return handle((**state_).l2norm(x.id, eps)); }
Tensor GraphBuilder::rmsnorm(Tensor x, float eps, Tensor weight) { return handle((**state_).rmsnorm(x.id, eps, weight.id)); }
Tensor GraphBuilder::linear(Tensor x, Tensor weight, Tensor bias) { return handle((**state_).linear(x.id, weight.id, bias.id)); }
Tensor GraphBuilder::matmul(Tensor a, Tensor b) { return handle((**state_).binary(Op::matmul, a.id, b.id)); }
Tensor GraphBuilder::embed(Tensor table, Tensor ids) { return handle((**state_).embed(table.id, ids.id)); }
Tensor GraphBuilder::transpose(Tensor x) { return handle((**state_).unary(Op::transpose, x.id)); }
Tensor GraphBuilder::reshape(Tensor x, TensorShape shape) { return handle((**state_).reshape(x.id, std::move(shape))); }
Tensor GraphBuilder::permute(Tensor x, std::initializer_list<int64_t> axes) { return handle((**state_).permute(x.id, axes)); }
Tensor GraphBuilder::concat(std::initializer_list<Tensor> pieces) { return handle((**state_).apply(Op::concat, ids_of(pieces))); }
Tensor GraphBuilder::stack(std::initializer_list<Tensor> pieces) { return handle((**state_).apply(Op::stack, ids_of(pieces))); }
// clang-format on

Tensor GraphBuilder::layernorm(Tensor x, float eps, Tensor weight, Tensor bias) {
  return handle(state_->builder.layernorm(x.id, eps, weight.id, bias.id));
}

Tensor GraphBuilder::clamp(Tensor x, float lo, float hi) {
  return handle(state_->builder.apply(Op::clamp, {x.id}, {{"lo", double{lo}}, {"hi", double{hi}}}));
}

Tensor GraphBuilder::view(Tensor x, TensorShape starts, TensorShape lengths) {
  return handle(state_->builder.view(x.id, std::move(starts), std::move(lengths)));
}

std::vector<Tensor> GraphBuilder::split(Tensor x, TensorShape sizes) {
  std::vector<Tensor> pieces;
  for (const ValueId v : state_->builder.split(x.id, std::move(sizes))) pieces.push_back(handle(v));
  return pieces;
}

Tensor GraphBuilder::repeat(Tensor x, int64_t n) {
  return handle(state_->builder.apply(Op::repeat, {x.id}, {{"n", n}, {"kind", Symbol::tile}}));
}

// Head by head, of products, softmax and views: q_h k_h' is [t, s], a constant hides what a row
// does not see.
Tensor GraphBuilder::attention(Tensor q, Tensor k, Tensor v, const AttentionOptions& options) {
  const TensorShape qs = shape(q), ks = shape(k), vs = shape(v);
  const bool fits = qs.size() == 3 && ks.size() == 3 && vs.size() == 3 && qs[2] == ks[2] &&
                    ks[0] == vs[0] && ks[1] == vs[1] && qs[1] % ks[1] == 0;
  if (!fits) {
    state_->fail(fmt::format("attention: q {}, k {} and v {} do not fit together", print_shape(qs),
                             print_shape(ks), print_shape(vs)));
    return {};
  }
  Builder& b = **state_;
  const bool hides = options.causal || options.window > 0;
  const ValueId mask =
      hides ? b.constant(mask_of(qs[0], ks[0], options), {qs[0], ks[0]}) : kNoValue;
  const auto by_head = [&](Tensor x) { return b.permute(x.id, {1, 0, 2}); };
  const ValueId queries = by_head(q), keys = by_head(k), values = by_head(v);
  std::vector<ValueId> heads;
  for (int64_t head = 0; head < qs[1]; ++head) {
    const int64_t shared = head * ks[1] / qs[1];
    ValueId s =
        b.binary(Op::matmul, b.index(queries, head), b.unary(Op::transpose, b.index(keys, shared)));
    s = b.softcap(b.binary(Op::mul, s, double{options.scale}), options.softcap);
    if (hides) s = b.add(s, mask);
    const ValueId y = b.binary(Op::matmul, b.unary(Op::softmax, s), b.index(values, shared));
    heads.push_back(b.reshape(y, {1, qs[0], vs[2]}));
  }
  return handle(b.permute(stacked(b, std::move(heads)), {1, 0, 2}));
}

void GraphBuilder::output(std::string_view name, Tensor x) {
  state_->builder.output(std::string(name), x.id);
}

TensorShape GraphBuilder::shape(Tensor x) const {
  return state_->builder.has(x.id) ? state_->builder.value(x.id).shape : TensorShape{};
}

Outcome GraphBuilder::status() const {
  const Status& status = state_->builder.status();
  return status.has_value() ? Outcome() : outcome_of(status.error());
}

Outcome GraphBuilder::build(TensorGraph& graph, const RunOptions& options) {
  const auto made = [&]() -> Result<std::unique_ptr<TensorGraph::State>> {
    auto ready = std::make_unique<TensorGraph::State>();
    ready->model = state_->model;
    Graph plain = ETCH_TRY(std::move(state_->builder).finish());
    ETCH_TRY(run_passes(plain));
    LowerOptions lower_options;
    lower_options.limits.n_threads = options.threads > 0 ? options.threads : usable_threads();
    Lowered lowered = ETCH_TRY(lower(plain, Target{}, lower_options));
    const SessionOptions session = {.n_threads =
                                        static_cast<int32_t>(lower_options.limits.n_threads)};
    const std::span<const uint8_t> file =
        ready->model ? ready->model->bytes() : std::span<const uint8_t>{};
    ready->session = ETCH_TRY(
        Session::create(std::make_shared<const Lowered>(std::move(lowered)), file, session));
    return ready;
  };
  Result<std::unique_ptr<TensorGraph::State>> ready = made();
  if (!ready.has_value()) return outcome_of(ready.error());
  graph.state_ = std::move(*ready);
  return {};
}

}  // namespace etch
