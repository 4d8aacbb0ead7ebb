// The registry of kernels: what each one does, which arguments it takes, how its items are shared
// out, and its function for every instruction set. kernels.def is the list; registry.cc reads it. A
// kernel is named without an instruction set: layouts, tile rows and scratch sizes are the same for
// all, so one plan serves every machine.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "dtypes/dtype.h"
#include "etch/model_abi.h"

// How an edge's numbers are laid out. Part of an edge's type: a kernel that reads a format nobody
// wrote cannot be expressed. The layouts are drawn in kernels/activations.h.
namespace etch {

enum class Representation : uint8_t {
  f32,           // rows of float32
  i32,           // ids
  q8_32,         // int8 per 32, row by row (registers kernels, expert inputs)
  q8_256,        // int8 per 256, row by row
  q8_32_packed,  // the same in blocks of columns (panel kernels)
  q8_256_packed,
};
std::string_view name(Representation r);

enum class KvType : uint8_t { f16, f32, bf16, q8_0 };
std::string_view name(KvType t);
std::optional<KvType> kv_type_of_name(std::string_view name);

// Which C struct of model_abi.h a kernel takes.
enum class ArgsKind : uint8_t {
  embed,
  norm,
  quantize,
  matmul,
  expert_matmul,
  expert_order,
  mix,
  route,
  rotary,
  rope,
  append,
  attend,
  elementwise,
  gather,
  wire_matmul
};

// One field of an argument struct, so that a plan can be stored, printed, resolved and emitted
// without knowing the struct: args.cc lists them all, in order.
struct ArgField {
  enum class Type : uint8_t { pointer, i64, i32, f32, rows_of, call };
  std::string_view name;  // "weight", "x.at", "sizes[0]"
  Type type;
  int32_t offset;  // in the struct
};
struct ArgsInfo {
  std::string_view name;  // "etch_matmul"
  int32_t bytes;
  std::span<const ArgField> fields;
};
const ArgsInfo& info(ArgsKind kind);

enum class Split : uint8_t { items, every_thread, one };

}  // namespace etch

// One kernel. (Global, because model_abi.h names it.)
struct etch_kernel {
  std::string_view name;  // "matmul_q4_1_panel": also the C symbol behind etch_k_
  etch::ArgsKind args;
  std::optional<etch::DType> weight;                        // of matmul, expert_matmul, embed
  etch::Representation input = etch::Representation::f32;   // what it reads as x
  etch::Representation output = etch::Representation::f32;  // what it writes
  std::optional<etch::KvType> kv;                           // of append, attend
  int32_t row_multiple = 1;  // matmul: d must be a multiple of it; rows of n_in elements
  int32_t tile_rows = 1;     // weight rows of one item
  // How many items a call has on this step; args are resolved. Depends on sizes and the number of
  // threads alone.
  int64_t (*items)(const void* args, const etch_thread* thread) = nullptr;
  // About how many bytes of weights or input one item reads: etch_call looks at `stop` every 64
  // KiB.
  int64_t (*item_bytes)(const void* args) = nullptr;
  // Bytes of scratch each thread needs (0: none); d = n_in or head sizes as the kernel says.
  int64_t (*scratch_bytes)(const void* args) = nullptr;
  double cycles_per_256 = 0;  // weights of a matmul, one column, in L2: cost model
  etch_kernel_fn fn[ETCH_ISA_COUNT] = {};
};

namespace etch {

std::span<const etch_kernel> all_kernels();
const etch_kernel* find_kernel(std::string_view name);

// Instruction sets. best_isa() asks the CPU; a name is "scalar", "avx2", "avx512", "avx512_vnni".
std::string_view isa_name(etch_isa isa);
std::optional<etch_isa> isa_of_name(std::string_view name);
bool cpu_has(etch_isa isa);
etch_isa best_isa();

// Sizes that planner and kernels share (activations.h, kv pages).
int64_t activation_row_bytes(Representation r, int64_t d);  // q8_32, q8_256: one row; f32: 4 d
int64_t activation_bytes(Representation r, int64_t d, int64_t rows);  // any, packed forms included
int64_t kv_page_bytes(KvType type, int64_t n, int64_t d_k,
                      int64_t d_v);  // K panels then V rows of 128 positions
// Attention over a cache is two calls with the same arguments: attend_<kv>, a barrier,
// attend_merge. attend takes one row per kv head, or block by block where kv heads alone would
// leave threads idle (attend_work.h); then every block's maximum, sum and result go to `partials`,
// and attend_merge joins them in ascending order. Otherwise attend_merge has no items. With one
// thread, and for attend_step (no cache), it is not needed.
//
// Floats of etch_attend::partials for a context of n_ctx positions and n_threads threads; 0: never
// used.
int64_t attend_partial_floats(int64_t n_q, int64_t n_kv, int64_t d_v, int64_t n_ctx,
                              int64_t n_threads);

}  // namespace etch
