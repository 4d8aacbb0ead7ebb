// attention = append what is new to the cache, then attend; or attend among the rows of the step.
#include <fmt/core.h>

#include <cmath>

#include "kernels/limits.h"
#include "lower/ops/ops.h"

namespace etch {
namespace {

// [n, d] of each token, whatever shape the wire has.
Result<RowsView> heads_of(Drafter& d, ValueId v, int64_t n, int64_t width) {
  Operand x = ETCH_TRY(d.operand(v));
  if (x.shape != std::vector<int64_t>{n, width}) {
    x = ETCH_TRY(d.contiguous(x));
    x.shape = {n, width};
    x.strides = {4 * width, 4};
  }
  return d.rows(x);
}

Status append(Drafter& d, const Node& node, ValueId k, ValueId v) {
  const StateInfo& state = d.graph.states[static_cast<size_t>(node.state())];
  const RowsView keys = ETCH_TRY(heads_of(d, k, state.n, state.d_k));
  const RowsView values = ETCH_TRY(heads_of(d, v, state.n, state.d_v));
  if (keys.rows.of != ETCH_TOKENS) return d.unsupported(node, "caches hold rows of tokens");
  DraftCall& call = d.emit(ArgsKind::append, "append");
  call.kv = d.options.limits.kv;
  call.set_view("k", keys);
  call.set_view("v", values);
  call.set("n", state.n);
  call.set("d_k", state.d_k);
  call.set("d_v", state.d_v);
  call.set("state", int32_t{node.state()});
  return {};
}

// ALiBi (circuit-language: section 9): n = the largest power of two <= n_q; the heads beyond it lie
// between those before.
std::vector<float> slopes(double b, int64_t n_q) {
  int64_t n = 1;
  while (2 * n <= n_q) n *= 2;
  std::vector<float> result;
  for (int64_t h = 0; h < n_q; ++h) {
    const double e = h < n ? b * static_cast<double>(h + 1) / static_cast<double>(n)
                           : b * static_cast<double>(2 * (h - n) + 1) / static_cast<double>(2 * n);
    result.push_back(static_cast<float>(std::exp2(-e)));
  }
  return result;
}

// How far back anything of this node can be seen; 0: everything.
int64_t reach_back(const Node& node) {
  const int64_t window = node.integer("window"), chunk = node.integer("chunk");
  return window == 0 ? chunk : chunk == 0 ? window : std::min(window, chunk);
}

// A plan serves any team of up to n_threads threads, and fewer may share out more blocks.
int64_t most_partial_floats(const Limits& limits, int64_t n_q, int64_t n_kv, int64_t d_v) {
  int64_t most = 0;
  for (int64_t threads = 1; threads <= limits.n_threads; ++threads)
    most = std::max(most, attend_partial_floats(n_q, n_kv, d_v, limits.n_ctx, threads));
  return most;
}

Status set_mask(Drafter& d, const Node& node, DraftCall& call, int64_t n_q) {
  call.set("window", node.integer("window"));
  call.set("chunk", node.integer("chunk"));
  call.set("scale", static_cast<float>(node.number("scale")));
  call.set("softcap", static_cast<float>(node.number("softcap")));
  call.set("full", static_cast<int32_t>(node.symbol("mask", Symbol::causal) == Symbol::full));
  call.set("sinks", ETCH_TRY(d.floats(node.wire("sinks"))));
  if (const double b = node.number("alibi"); b != 0)
    call.set("slopes", d.constants.add_numbers<float>(slopes(b, n_q)));
  if (const ValueId relative = node.wire("relative"); relative != kNoValue) {
    call.set("relative", ETCH_TRY(d.floats(relative)));
    call.set("buckets", d.value(relative).shape[0]);
    call.set("reach", node.integer("reach", 128));
  }
  return {};
}

}  // namespace

Status lower_append(Drafter& d, const Node& node) {
  const StateInfo& state = d.graph.states[static_cast<size_t>(node.state())];
  if (state.kind != StateInfo::Kind::cache || state.block != 0 || node.n_arguments() != 2)
    return d.unsupported(node,
                         fmt::format("{} is a kind of state without kernels yet", state.name));
  return append(d, node, node.inputs[0], node.inputs[1]);
}

Status lower_attention(Drafter& d, const Node& node) {
  if (node.wire("only") != kNoValue || node.find("only") != nullptr || node.find("also") != nullptr)
    return d.unsupported(node, "'only' and 'also' have no kernel yet");
  const bool cached = node.state() >= 0;
  const Value& q_value = d.value(node.inputs[0]);
  if (q_value.rows != Rows::tokens || q_value.shape.size() != 2) {
    return d.unsupported(
        node,
        "its kernels work on the rows of a step's tokens, and this graph computes it once\n"
        "  a graph without tokens makes attention of matmul, softmax and matmul");
  }
  const int64_t n_q = q_value.shape[0], d_k = q_value.shape[1];
  int64_t n_kv = 0, d_v = 0;
  if (cached) {
    const StateInfo& state = d.graph.states[static_cast<size_t>(node.state())];
    if (state.kind != StateInfo::Kind::cache || state.block != 0)
      return d.unsupported(node,
                           fmt::format("{} is a kind of state without kernels yet", state.name));
    n_kv = state.n;
    d_v = state.d_v;
    if (node.n_arguments() == 3) ETCH_TRY(append(d, node, node.inputs[1], node.inputs[2]));
    int64_t& window = d.lowered.states[static_cast<size_t>(node.state())].window;
    const int64_t back = reach_back(node);
    window = window < 0 ? back : (window == 0 || back == 0) ? 0 : std::max(window, back);
  } else {
    n_kv = d.value(node.inputs[1]).shape[0];
    d_v = d.value(node.inputs[2]).shape[1];
  }
  if (d_k > kMaxHead || d_v > kMaxHead)
    return d.unsupported(node, fmt::format("heads may have {} entries at most", kMaxHead));
  const RowsView q = ETCH_TRY(heads_of(d, node.inputs[0], n_q, d_k));
  DraftCall call = make_call(ArgsKind::attend, "attend");
  if (cached) {
    call.kv = d.options.limits.kv;
    call.set("state", int32_t{node.state()});
  } else {
    call.set_view("k", ETCH_TRY(heads_of(d, node.inputs[1], n_kv, d_k)));
    call.set_view("v", ETCH_TRY(heads_of(d, node.inputs[2], n_kv, d_v)));
  }
  const RowsView y = ETCH_TRY(d.rows(d.make(node.outputs[0])));
  call.set_view("q", q);
  call.set_view("y", y);
  call.set("n_q", n_q);
  call.set("n_kv", n_kv);
  call.set("d_k", d_k);
  call.set("d_v", d_v);
  ETCH_TRY(set_mask(d, node, call, n_q));
  const int64_t floats = most_partial_floats(d.options.limits, n_q, n_kv, d_v);
  if (cached && floats > 0) {
    const Operand partials = d.make("partials", Rows::once, {floats});
    call.set("partials", partials.place);
  }
  DraftCall& attend = d.emit(ArgsKind::attend, "attend");
  call.origin = attend.origin;
  attend = call;
  if (cached && floats > 0) {
    // Blocks that threads shared out are joined from their partial results alone.
    call.op = "attend_merge";
    call.kv.reset();
    call.set_view("q", RowsView{.inner_stride = 0});
    DraftCall& merge = d.emit(ArgsKind::attend, "attend_merge");
    merge = std::move(call);
  }
  return {};
}

}  // namespace etch
