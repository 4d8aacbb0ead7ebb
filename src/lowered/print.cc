#include "lowered/print.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

namespace etch {
namespace {

std::string print_place(const Lowered& lowered, const Place& p) {
  if (p.space == Space::none) return "null";
  if (p.buffer < 0) return fmt::format("{}:{}", name(p.space), p.offset);
  const Buffer& b = lowered.buffers[static_cast<size_t>(p.buffer)];
  const int64_t inside = p.offset - b.offset;
  return fmt::format("{}({}:{}{})", b.name, name(p.space), b.offset,
                     inside == 0 ? "" : fmt::format("+{}", inside));
}

std::string print_arg(const Lowered& lowered, const Arg& arg) {
  struct Printer {
    const Lowered& lowered;
    std::string operator()(const Place& p) const { return print_place(lowered, p); }
    std::string operator()(int64_t n) const { return fmt::format("{}", n); }
    std::string operator()(int32_t n) const { return fmt::format("{}", n); }
    std::string operator()(float f) const { return fmt::format("{}", f); }
    std::string operator()(CallRef c) const { return fmt::format("call {}", c.call); }
  };
  return std::visit(Printer{lowered}, arg);
}

// Null pointers, zeros and absent calls say nothing.
bool is_empty(const Arg& arg) {
  if (const Place* p = std::get_if<Place>(&arg)) return p->space == Space::none;
  if (const auto* l = std::get_if<int64_t>(&arg)) return *l == 0;
  if (const auto* i = std::get_if<int32_t>(&arg)) return *i == 0;
  if (const auto* f = std::get_if<float>(&arg)) return *f == 0;
  return std::get<CallRef>(arg).call < 0;
}

std::string_view name(Split s) {
  constexpr std::string_view kNames[] = {"items", "every_thread", "one"};
  return kNames[static_cast<size_t>(s)];
}

std::string print_size(const Affine& size) {
  std::string text;
  const auto add = [&](int64_t n, std::string_view of) {
    if (n == 0) return;
    text += fmt::format("{}{}{}", text.empty() ? "" : " + ", n, of);
  };
  add(size.fixed, "");
  add(size.per_row, " N");
  add(size.per_output, " R");
  return text.empty() ? "0" : text;
}

void print_list(const Lowered& lowered, const CallList& list, std::string_view which,
                std::string& out) {
  if (list.calls.empty()) return;
  int64_t barriers = 0;
  for (const Call& c : list.calls) barriers += c.barrier_after ? 1 : 0;
  out += fmt::format("\n{}: {} calls, {} barriers, up to {} rows\n", which, list.calls.size(),
                     barriers, list.max_rows);
  int32_t layer = -2;
  for (size_t i = 0; i < list.calls.size(); ++i) {
    const Call& call = list.calls[i];
    if (call.origin.layer != layer) {
      layer = call.origin.layer;
      out += layer < 0 ? "  --\n" : fmt::format("  -- layer {}\n", layer);
    }
    out += fmt::format("{:5}  {}\n", i, print_call(lowered, call));
    if (call.barrier_after) out += "       ----\n";
  }
}

void print_buffers(const Lowered& lowered, bool prefill, std::string& out) {
  for (const Buffer& b : lowered.buffers) {
    if (is_per_list(b.space) ? b.prefill != prefill : prefill) continue;
    out += fmt::format("  {:<7} {:>10} .. {:<10} {:<12} {:<24} {}", name(b.space), b.offset,
                       b.offset + b.bytes, name(b.representation), b.name, print_size(b.size));
    if (b.first_call >= 0) out += fmt::format("  calls {}..{}", b.first_call, b.last_call);
    out += "\n";
  }
}

}  // namespace

std::string print_call(const Lowered& lowered, const Call& call) {
  std::string text = fmt::format("{:<28}", call.kernel->name);
  if (call.split != Split::items) text += fmt::format(" [{}]", name(call.split));
  const ArgsInfo& args = info(call.kernel->args);
  for (size_t i = 0; i < call.args.size(); ++i)
    if (!is_empty(call.args[i]))
      text += fmt::format(" {}={}", args.fields[i].name, print_arg(lowered, call.args[i]));
  text += fmt::format("  # {}", call.origin.what);
  if (!call.origin.tensor.empty()) text += fmt::format("  [{}]", call.origin.tensor);
  if (!call.origin.location.empty()) text += fmt::format("  {}", call.origin.location);
  return text;
}

std::string print(const Lowered& lowered) {
  std::string out =
      fmt::format("{}\narena {} bytes, thread {} bytes each, constants {}, inputs {}, outputs {}\n",
                  lowered.name, lowered.arena_bytes, lowered.thread_bytes, lowered.constants.size(),
                  lowered.input_bytes, lowered.output_bytes);
  for (const State& s : lowered.states) {
    if (s.kind == State::Kind::cache)
      out += fmt::format("state {}: {} of {} heads, {} + {}, {} bytes a page, window {}\n", s.name,
                         name(s.kv), s.n, s.d_k, s.d_v, s.page_bytes, s.window);
    else
      out += fmt::format("state {}: {} bytes\n", s.name, s.bytes);
  }
  for (const bool prefill : {false, true}) {
    print_list(lowered, prefill ? lowered.prefill : lowered.decode, prefill ? "prefill" : "decode",
               out);
    out += fmt::format("\nbuffers of {}\n", prefill ? "prefill" : "decode and all");
    print_buffers(lowered, prefill, out);
  }
  return out;
}

namespace {

using nlohmann::ordered_json;

ordered_json json_of(const Access& a) {
  ordered_json j;
  if (a.state >= 0) return {{"state", a.state}};
  j["buffer"] = a.place.buffer;
  j["space"] = name(a.place.space);
  j["offset"] = a.place.offset;
  j["bytes"] = a.bytes;
  if (a.stride > 0) {
    j["piece"] = a.piece;
    j["stride"] = a.stride;
  }
  return j;
}

ordered_json json_of(const Arg& arg) {
  if (const Place* p = std::get_if<Place>(&arg)) {
    if (p->space == Space::none) return nullptr;
    ordered_json j = {{"space", name(p->space)}, {"offset", p->offset}};
    if (p->buffer >= 0) j["buffer"] = p->buffer;
    return j;
  }
  if (const auto* l = std::get_if<int64_t>(&arg)) return *l;
  if (const auto* i = std::get_if<int32_t>(&arg)) return *i;
  if (const auto* f = std::get_if<float>(&arg)) return *f;
  return {{"call", std::get<CallRef>(arg).call}};
}

ordered_json json_of(const Call& call) {
  ordered_json j;
  j["kernel"] = call.kernel->name;
  j["split"] = name(call.split);
  j["barrier_after"] = call.barrier_after;
  const ArgsInfo& args = info(call.kernel->args);
  j["struct"] = args.name;
  for (size_t i = 0; i < call.args.size(); ++i)
    if (!is_empty(call.args[i]))
      j["args"][std::string(args.fields[i].name)] = json_of(call.args[i]);
  j["reads"] = ordered_json::array();
  for (const Access& a : call.reads) j["reads"].push_back(json_of(a));
  j["writes"] = ordered_json::array();
  for (const Access& a : call.writes) j["writes"].push_back(json_of(a));
  j["origin"] = {{"node", call.origin.node},
                 {"layer", call.origin.layer},
                 {"location", call.origin.location},
                 {"tensor", call.origin.tensor},
                 {"what", call.origin.what}};
  return j;
}

ordered_json json_of(const CallList& list) {
  ordered_json calls = ordered_json::array();
  for (const Call& c : list.calls) calls.push_back(json_of(c));
  return {{"max_rows", list.max_rows}, {"max_outputs", list.max_outputs}, {"calls", calls}};
}

ordered_json json_of(const Buffer& b) {
  return {{"name", b.name},
          {"space", name(b.space)},
          {"offset", b.offset},
          {"bytes", b.bytes},
          {"size", {b.size.fixed, b.size.per_row, b.size.per_output}},
          {"representation", name(b.representation)},
          {"calls", {b.first_call, b.last_call}},
          {"value", b.value},
          {"list", b.prefill ? "prefill" : "decode"}};
}

ordered_json json_of(const Choice& c) {
  ordered_json candidates = ordered_json::array();
  for (const Candidate& k : c.candidates)
    candidates.push_back(
        {{"kernel", k.kernel}, {"legal", k.legal}, {"cost", k.cost}, {"reason", k.reason}});
  return {{"node", c.node},
          {"list", c.prefill ? "prefill" : "decode"},
          {"chosen", c.chosen},
          {"candidates", candidates}};
}

}  // namespace

std::string print_json(const Lowered& lowered) {
  ordered_json j;
  j["schema"] = "etch.lowered/1";
  j["name"] = lowered.name;
  j["memory"] = {{"arena", lowered.arena_bytes},
                 {"thread", lowered.thread_bytes},
                 {"constants", lowered.constants.size()},
                 {"input", lowered.input_bytes},
                 {"output", lowered.output_bytes}};
  j["decode"] = json_of(lowered.decode);
  j["prefill"] = json_of(lowered.prefill);
  j["buffers"] = ordered_json::array();
  for (const Buffer& b : lowered.buffers) j["buffers"].push_back(json_of(b));
  j["states"] = ordered_json::array();
  for (const State& s : lowered.states)
    j["states"].push_back({{"name", s.name},
                           {"type", name(s.kv)},
                           {"heads", s.n},
                           {"d_k", s.d_k},
                           {"d_v", s.d_v},
                           {"page_bytes", s.page_bytes},
                           {"bytes", s.bytes},
                           {"window", s.window}});
  j["choices"] = ordered_json::array();
  for (const Choice& c : lowered.choices) j["choices"].push_back(json_of(c));
  return j.dump(1);
}

}  // namespace etch
