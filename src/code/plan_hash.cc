#include "code/print_c.h"

#include <bit>

namespace etch {
namespace {

// FNV-1a over words.
class Hash {
 public:
  void add(uint64_t word) { h_ = (h_ ^ word) * 0x100000001b3u, h_ ^= h_ >> 32; }
  void add(int64_t n) { add(static_cast<uint64_t>(n)); }
  void add(int32_t n) { add(static_cast<uint64_t>(static_cast<uint32_t>(n))); }
  void add(float f) { add(uint64_t{std::bit_cast<uint32_t>(f)}); }
  void add(std::string_view text) {
    add(static_cast<uint64_t>(text.size()));
    for (const char c : text) add(uint64_t{static_cast<unsigned char>(c)});
  }
  void add(const Place& p) {
    add(static_cast<int32_t>(p.space));
    add(p.offset);
  }
  void add(CallRef c) { add(c.call); }
  void add(const Arg& arg) {
    add(static_cast<int32_t>(arg.index()));
    std::visit([this](const auto& value) { add(value); }, arg);
  }
  uint64_t value() const { return h_; }

 private:
  uint64_t h_ = 0xcbf29ce484222325u;
};

}  // namespace

uint64_t plan_hash(const Lowered& lowered) {
  Hash h;
  h.add(int32_t{ETCH_MODEL_ABI_VERSION});
  const Limits& l = lowered.limits;
  for (const int64_t n :
       {l.n_ctx, l.n_rows, l.n_outputs, l.n_threads, static_cast<int64_t>(l.kv),
        lowered.arena_bytes, lowered.thread_bytes, lowered.output_bytes, lowered.file_bytes})
    h.add(n);
  for (const CallList* list : {&lowered.decode, &lowered.prefill}) {
    h.add(static_cast<uint64_t>(list->calls.size()));
    h.add(list->max_rows);
    for (const Call& call : list->calls) {
      h.add(call.kernel->name);
      h.add(static_cast<int32_t>(call.split));
      h.add(static_cast<int32_t>(call.barrier_after));
      for (const Arg& arg : call.args) h.add(arg);
    }
  }
  for (const State& s : lowered.states)
    for (const int64_t n : {static_cast<int64_t>(s.kind), s.page_bytes, s.bytes, s.window})
      h.add(n);
  for (const Output& o : lowered.outputs) {
    h.add(std::string_view(o.name));
    h.add(lowered.buffers[static_cast<size_t>(o.buffer)].offset);
    for (const int64_t n : o.shape) h.add(n);
  }
  for (const uint8_t byte : lowered.constants) h.add(uint64_t{byte});
  return h.value();
}

}  // namespace etch
