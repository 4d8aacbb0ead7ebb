// Lowered: what a machine does for one graph, as plain data: calls of kernels, buffers with
// addresses, sizes. Two lists of calls are made from one graph, for a few rows (decode) and for
// many (prefill); either serves any step that fits. It knows no model family and no instruction
// set; the executor walks it, code/ prints it as C.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/kernel.h"
#include "lowered/affine.h"

namespace etch {

// clang-format off
// Memories that never mix.
//   file       the read-only mapping of the model, or the memory of hand-made weights (weight_bases)
//   constants  built when the plan is made: rotary frequencies, biases in float32, expert offsets
//   arena      scratch of a step, shared by the threads; where a buffer stands is planned ahead
//   thread     scratch that every thread has once
//   input      what the caller fills before a step (hand-made graphs; token ids come with the step)
//   output     what a step leaves for the caller: logits [R, n_vocab], hidden [R, d_model]
// States (KV pages, recurrent states) belong to sequences; calls name them by number.
// clang-format on
enum class Space : uint8_t { none, file, constants, arena, thread, input, output };
std::string_view name(Space s);

struct Place {
  Space space = Space::none;  // none: a null pointer
  int64_t offset = 0;         // bytes
  int32_t buffer = -1;        // index into Lowered::buffers where it is a planned one
};

// A piece of arena, thread, input or output memory, or of the constants.
struct Buffer {
  std::string name;  // "q", for people
  Space space = Space::arena;
  int64_t offset = 0;  // 64-byte aligned
  int64_t bytes = 0;   // at the largest step of its list
  Affine size;
  Representation representation = Representation::f32;
  int32_t first_call = -1, last_call = -1;  // life in its list; -1: the whole step
  int32_t value = -1;                       // graph value
  bool prefill = false;                     // which list
};
bool is_per_list(Space s);  // arena and thread: planned for each list by itself

// A range of bytes that a call reads or writes, for race checks, guards and lifetimes: `bytes` from
// place on, of them the first `piece` of every `stride` (stride 0: all of them).
struct Access {
  Place place;
  int64_t bytes = 0;   // at the largest step
  int32_t state = -1;  // or a state
  int64_t piece = 0, stride = 0;
};

// One argument, in the order of info(kernel->args).fields. A null place is a null pointer.
struct CallRef {
  int32_t call = -1;
};
using Arg = std::variant<Place, int64_t, int32_t, float, CallRef>;

struct CallOrigin {
  int32_t node = -1;  // graph node (the last one fused in)
  int32_t layer = -1;
  std::string location;  // "circuits/llama.circuit:52"
  std::string tensor;    // "blk.3.attn_q.weight", or ""
  std::string what;      // "q = linear(h, attn_q)": for people
};

struct Call {
  const etch_kernel* kernel = nullptr;
  std::vector<Arg> args;
  Split split = Split::items;  // items: shared out; every_thread: each does all of it in its own
                               // memory; one: thread 0
  bool barrier_after = false;
  std::vector<Access> reads, writes;
  CallOrigin origin;
};

struct CallList {
  std::vector<Call> calls;
  int64_t max_rows = 0;     // N of the largest step; 0: the list is never run
  int64_t max_outputs = 0;  // R of it
};

// What a sequence keeps. Caches live in pages; others in one piece of `bytes`.
struct State {
  enum class Kind : uint8_t { cache, memory };
  Kind kind = Kind::cache;
  std::string name;  // "kv[3]"
  KvType kv = KvType::f16;
  int64_t n = 0, d_k = 0, d_v = 0;
  int64_t page_bytes = 0;  // cache: of 128 positions
  int64_t bytes = 0;       // memory
  int64_t window = 0;      // positions that can still be seen; 0: all
};

struct Output {
  std::string name;  // "logits", "hidden", ...
  int32_t buffer = -1;
  std::vector<int64_t> shape;  // of a row
  int32_t rows_of = ETCH_OUTPUTS;
};
struct Input {
  std::string name;
  int32_t buffer = -1;
  std::vector<int64_t> shape;
  bool ids = false;
};

// Why a kernel was taken, for `etch explain`.
struct Candidate {
  std::string kernel;
  bool legal = false;
  double cost = 0;     // cycles of one step, estimated
  std::string reason;  // why it lost, or is not legal
};
struct Choice {
  int32_t node = -1;
  bool prefill = false;
  std::string chosen;
  std::vector<Candidate> candidates;
};

// What a lowering pass did.
struct PassReport {
  std::string name;
  bool prefill = false;
  bool left_out = false;
  int64_t changes = 0;  // calls it took away or changed
  double seconds = 0;
};

// The largest step the memory is planned for, and how it is run.
struct Limits {
  int64_t n_ctx = 4096;    // positions of one sequence
  int64_t n_rows = 512;    // rows of a prefill step (--ubatch)
  int64_t n_outputs = 16;  // rows that want outputs in one step
  int64_t n_threads = 1;
  KvType kv = KvType::f16;
};

struct Lowered {
  std::string name;
  Limits limits;
  CallList decode;   // steps of at most ETCH_DECODE_ROWS rows
  CallList prefill;  // larger ones; empty for graphs without tokens
  std::vector<Buffer> buffers;
  std::vector<State> states;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::vector<uint8_t> constants;
  std::vector<Choice> choices;
  std::vector<PassReport> passes;
  // Hand-made graphs may take weights from memory: they are addressed as `file` with offsets
  // counted from weight_bases[i] where the offset's top byte says i + 1 (0: the mapping).
  std::vector<const uint8_t*> weight_bases;
  int64_t arena_bytes = 0, thread_bytes = 0, input_bytes = 0, output_bytes = 0;
  int64_t file_bytes = 0;  // of the mapping that offsets count in
  bool has_tokens = true;
};

}  // namespace etch
