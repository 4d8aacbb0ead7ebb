// plan.txt: memory over time. A line a call, in order, with what lives in the arena while it runs:
//
//    12  matmul_q4_1_registers         blk.0.attn_q.weight   27,648  |##..####........|
//
// The bar is the arena from its first byte to its last; layers that look like an earlier one are
// told in a line.
#include <algorithm>

#include "base/number_text.h"
#include "lowered/kinds.h"
#include "session/session.h"
#include "study/sidecar_parts.h"

namespace etch {
namespace {

constexpr int64_t kBar = 48;  // characters

std::string bar_of(const Lowered& lowered, bool prefill, int32_t call, int64_t& live) {
  std::string bar(kBar, '.');
  live = 0;
  for (const Buffer& b : lowered.buffers) {
    if (b.space != Space::arena || b.prefill != prefill) continue;
    if (call < b.first_call || call > b.last_call) continue;
    live += b.bytes;
    const int64_t total = std::max<int64_t>(1, lowered.arena_bytes);
    const int64_t first = b.offset * kBar / total;
    const int64_t last = std::max(first, ((b.offset + b.bytes) * kBar - 1) / total);
    for (int64_t i = first; i <= std::min(last, kBar - 1); ++i) bar[static_cast<size_t>(i)] = '#';
  }
  return bar;
}

std::string layers_text(const std::vector<int32_t>& layers) {
  std::string text;
  for (size_t i = 0; i < layers.size();) {
    size_t end = i + 1;
    while (end < layers.size() && layers[end] == layers[end - 1] + 1) ++end;
    text += text.empty() ? "" : ", ";
    text += end - i == 1 ? fmt::format("{}", layers[i])
                         : fmt::format("{} to {}", layers[i], layers[end - 1]);
    i = end;
  }
  return text;
}

void print_list(const Lowered& lowered, bool prefill, std::string& out) {
  const CallList& list = prefill ? lowered.prefill : lowered.decode;
  if (list.calls.empty()) return;
  out += fmt::format("\n{}: steps of up to {} rows, {} of them with outputs\n\n",
                     prefill ? "prefill" : "decode", list.max_rows, list.max_outputs);
  out +=
      fmt::format("{:>5}  {:<28}  {:<32} {:>13}  arena\n", "call", "kernel", "what", "live bytes");
  const std::vector<LayerKind> kinds = layer_kinds(list);
  const auto is_told = [&](int32_t layer) {  // the first of its kind is
    return std::none_of(kinds.begin(), kinds.end(), [&](const LayerKind& k) {
      return k.layers.front() != layer &&
             std::find(k.layers.begin(), k.layers.end(), layer) != k.layers.end();
    });
  };
  int32_t layer = -2;
  for (int32_t i = 0; i < static_cast<int32_t>(list.calls.size()); ++i) {
    const Call& call = list.calls[static_cast<size_t>(i)];
    if (!is_told(call.origin.layer)) continue;
    if (call.origin.layer != layer) {
      layer = call.origin.layer;
      const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                     [&](const LayerKind& k) { return k.layers.front() == layer; });
      if (layer < 0)
        out += "  --\n";
      else
        out +=
            fmt::format("  -- layer {}\n", kind == kinds.end() ? "?" : layers_text(kind->layers));
    }
    int64_t live = 0;
    const std::string bar = bar_of(lowered, prefill, i, live);
    const std::string& what = call.origin.tensor.empty() ? call.origin.what : call.origin.tensor;
    out +=
        fmt::format("{:5}  {:<28}  {:<32} {:>13}  |{}|\n", i, call.kernel->name,
                    what.size() > 32 ? what.substr(0, 29) + "..." : what, with_commas(live), bar);
    if (call.barrier_after) out += "       ----\n";
  }
}

void print_buffers(const Lowered& lowered, std::string& out) {
  out += "\nbuffers\n\n";
  out += fmt::format("{:<8} {:<7} {:>13} {:>13}  {:<13} {:<24} calls\n", "list", "memory", "first",
                     "last", "numbers", "name");
  for (const Buffer& b : lowered.buffers) {
    out += fmt::format(
        "{:<8} {:<7} {:>13} {:>13}  {:<13} {:<24} {}\n",
        !is_per_list(b.space) ? "both"
        : b.prefill           ? "prefill"
                              : "decode",
        name(b.space), with_commas(b.offset), with_commas(b.offset + b.bytes - 1),
        name(b.representation), b.name,
        b.first_call < 0 ? "the whole step" : fmt::format("{} to {}", b.first_call, b.last_call));
  }
}

}  // namespace

std::string print_plan(const Compiled& compiled) {
  const Lowered& lowered = *compiled.lowered;
  const Limits& limits = lowered.limits;
  int64_t weights = 0;
  for (const Weight& w : compiled.model->weights) weights += w.bytes;
  std::string out =
      fmt::format("{}: memory of one session of {} positions, steps of {} rows, {} threads\n\n",
                  lowered.name, limits.n_ctx, limits.n_rows, limits.n_threads);
  const MemoryPlan plan =
      plan_memory(lowered, {.n_threads = static_cast<int32_t>(limits.n_threads)});
  const std::pair<const char*, int64_t> lines[] = {
      {"weights, mapped from the file", weights},
      {"keys, values and states of one sequence", plan.kv},
      {"constants", static_cast<int64_t>(lowered.constants.size())},
      {"inputs", lowered.input_bytes},
      {"outputs", lowered.output_bytes},
      {"arena", lowered.arena_bytes},
      {"each thread", lowered.thread_bytes},
      {"mapped beside weights and states, in pages", plan.arena}};
  for (const auto& [what, bytes] : lines)
    out += fmt::format("  {:<44} {:>17} bytes\n", what, with_commas(bytes));
  for (const State& s : lowered.states)
    out +=
        s.kind == State::Kind::cache
            ? fmt::format("  state {}: {} of {} heads, {} + {} entries, {} bytes a page of 128{}\n",
                          s.name, name(s.kv), s.n, s.d_k, s.d_v, with_commas(s.page_bytes),
                          s.window > 0 ? fmt::format(", a window of {}", s.window) : "")
            : fmt::format("  state {}: {} bytes\n", s.name, with_commas(s.bytes));
  print_list(lowered, false, out);
  print_list(lowered, true, out);
  print_buffers(lowered, out);
  return out;
}

}  // namespace etch
