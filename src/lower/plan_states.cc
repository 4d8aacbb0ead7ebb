#include "lower/plan_states.h"

#include <algorithm>

namespace etch {
namespace {

State plan_state(const StateInfo& info, KvType kv) {
  State state;
  state.name = info.name;
  state.kv = kv;
  state.n = info.n;
  state.d_k = info.d_k;
  state.d_v = info.d_v;
  state.window = -1;  // until an attention says how far it looks back
  if (info.kind == StateInfo::Kind::cache) {
    state.kind = State::Kind::cache;
    state.page_bytes = kv_page_bytes(kv, info.n, info.d_k, info.d_v);
  } else {
    state.kind = State::Kind::memory;
    state.bytes = align_up(4 * info.n * info.d_k * std::max<int64_t>(info.d_v, 1));
  }
  return state;
}

Affine size_of(const Value& value) {
  int64_t bytes = 4;
  for (const int64_t length : value.shape) bytes *= length;
  if (value.rows == Rows::tokens) return {0, bytes, 0};
  if (value.rows == Rows::outputs) return {0, 0, bytes};
  return {bytes, 0, 0};
}

int32_t add_buffer(Lowered& lowered, std::string name, const Value& value, ValueId v, Space space,
                   int64_t& end) {
  const int64_t rows = std::max(lowered.decode.max_rows, lowered.prefill.max_rows);
  const int64_t outputs = std::max(lowered.decode.max_outputs, lowered.prefill.max_outputs);
  Buffer b;
  b.name = std::move(name);
  b.space = space;
  b.size = size_of(value);
  b.bytes = b.size.at(rows, outputs);
  b.offset = end;
  b.value = v;
  b.representation = value.kind == Value::Kind::ids ? Representation::i32 : Representation::f32;
  end += align_up(b.bytes);
  lowered.buffers.push_back(std::move(b));
  return static_cast<int32_t>(lowered.buffers.size()) - 1;
}

int32_t rows_of(const Value& value) {
  return value.rows == Rows::tokens    ? ETCH_TOKENS
         : value.rows == Rows::outputs ? ETCH_OUTPUTS
                                       : ETCH_ONCE;
}

bool comes_with_the_step(const Value& value, const std::string& name) {
  return value.kind == Value::Kind::ids && value.rows == Rows::tokens &&
         (name == "tokens" || name == "positions");
}

}  // namespace

void plan_states(const Graph& graph, Lowered& lowered) {
  for (const StateInfo& s : graph.states)
    lowered.states.push_back(plan_state(s, lowered.limits.kv));
}

Status plan_inputs_and_outputs(const Graph& graph, Lowered& lowered) {
  for (const ValueId v : graph.inputs) {
    const Value& value = graph.values[static_cast<size_t>(v)];
    const AttributeValue* found = graph.maker(v).find("name");
    const auto* name = found == nullptr ? nullptr : std::get_if<std::string>(found);
    if (name == nullptr) return fail(ErrorKind::internal, "an input has no name");
    if (comes_with_the_step(value, *name)) continue;
    const int32_t buffer = add_buffer(lowered, *name, value, v, Space::input, lowered.input_bytes);
    lowered.inputs.push_back({*name, buffer, value.shape, value.kind == Value::Kind::ids});
  }
  std::vector<std::pair<ValueId, int32_t>> known;  // one value may have two names
  for (const GraphOutput& o : graph.outputs) {
    const Value& value = graph.values[static_cast<size_t>(o.value)];
    if (value.kind != Value::Kind::real || value.rows > Rows::outputs)
      return fail(ErrorKind::unsupported, "output '{}' has rows of a kind without kernels yet",
                  o.name);
    const auto it =
        std::find_if(known.begin(), known.end(), [&](const auto& k) { return k.first == o.value; });
    int32_t buffer = it == known.end() ? -1 : it->second;
    if (buffer < 0) {
      buffer = add_buffer(lowered, o.name, value, o.value, Space::output, lowered.output_bytes);
      known.emplace_back(o.value, buffer);
    }
    lowered.outputs.push_back({o.name, buffer, value.shape, rows_of(value)});
  }
  return {};
}

void find_weight_bases(const Graph& graph, Lowered& lowered) {
  const uint8_t* lowest = nullptr;
  for (const WeightSource& w : graph.weights)
    if (w.kind == WeightSource::Kind::memory &&
        (lowest == nullptr || std::less<const uint8_t*>{}(w.memory, lowest)))
      lowest = w.memory;
  if (lowest != nullptr) lowered.weight_bases.push_back(lowest);
  if (graph.model != nullptr)
    lowered.file_bytes = static_cast<int64_t>(graph.model->bytes().size());
}

}  // namespace etch
