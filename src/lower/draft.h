// Draft: a list of calls on the way to a plan. Its buffers ("slots") have sizes and no addresses,
// its kernels are chosen late, and whatever is computed goes to a slot of its own. Passes rewrite
// it, schedule() orders it, plan_arena() gives every slot its place; then it is a CallList.
//
//   graph --draft_graph--> calls on float32 --passes, select_kernels, insert_conversions-->
//   the calls that run --schedule--> in order, with barriers --plan_arena--> Lowered
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "lower/lower.h"
#include "lowered/lowered.h"

namespace etch {

// A piece of memory to be planned. Calls name it by Place::buffer, with offsets from its beginning.
struct Slot {
  std::string name;
  Space space = Space::arena;  // schedule() moves some into the threads' memory
  Representation representation = Representation::f32;
  Affine size;
  int64_t bytes = 0;     // at the largest step of the list
  int32_t value = -1;    // of the graph
  int32_t shared = -1;   // inputs and outputs: the buffer in Lowered::buffers that both lists use
  int32_t same_as = -1;  // in place: the slot whose memory it takes over
};

// Where the float32 (or int32) numbers of a value lie: the views of a graph are made of these.
struct Operand {
  Place place;
  Rows rows = Rows::once;
  int64_t row_stride = 0;               // bytes between rows; 0 for one in all
  std::vector<int64_t> shape, strides;  // of one row, strides in bytes
};

// Rows as kernels see them: etch_view and etch_rows.
struct RowsView {
  Place at;
  int64_t row_stride = 0, inner_stride = 0;
  etch_rows rows = {ETCH_ONCE, 1};
  int64_t d = 1;  // of one row
  bool operator==(const RowsView& o) const;
  bool is_uniform() const {  // all rows the same distance apart
    return rows.per == 1 || rows.of == ETCH_ONCE || row_stride == rows.per * inner_stride;
  }
  int64_t uniform_stride() const { return rows.per == 1 ? row_stride : inner_stride; }
  bool is_packed_tight() const { return is_uniform() && uniform_stride() == 4 * d; }
};

struct DraftCall {
  ArgsKind kind = ArgsKind::elementwise;
  std::string op;               // which of the kernels of this kind: "rmsnorm", "matmul"
  std::optional<DType> weight;  // what it must be able to read
  std::optional<KvType> kv;
  Representation output = Representation::f32;
  const etch_kernel* kernel = nullptr;
  std::vector<Arg> args;  // in the order of info(kind).fields
  // matmul, expert_matmul: the float32 rows that x is made of; insert_conversions fills in args.
  RowsView x;
  Split split = Split::items;
  bool barrier_after = false;
  bool dead = false;  // taken away by a pass
  std::vector<Access> reads, writes;
  CallOrigin origin;

  const Arg& get(std::string_view field) const;
  void set(std::string_view field, Arg arg);
  Place place(std::string_view field) const { return std::get<Place>(get(field)); }
  int64_t i64(std::string_view field) const { return std::get<int64_t>(get(field)); }
  int32_t i32(std::string_view field) const { return std::get<int32_t>(get(field)); }
  bool has(std::string_view field) const { return place(field).space != Space::none; }

  void set_view(std::string_view field, const RowsView& view);  // at and strides
  void set_rows(etch_rows rows);
  etch_rows rows() const;  // {1, once} where the struct has none
  RowsView view(std::string_view field, int64_t d) const;
};

// A call of this kind with every argument empty.
DraftCall make_call(ArgsKind kind, std::string op);

// The struct of model_abi.h with pointers that are null or not: enough to ask a kernel for sizes.
std::vector<uint8_t> encode_sizes(const DraftCall& call);

struct Draft {
  bool prefill = false;
  int64_t max_rows = 1, max_outputs = 1;  // of the largest step
  int64_t usual_rows = 1;                 // what costs are estimated for
  std::vector<Slot> slots;
  std::vector<DraftCall> calls;

  int64_t rows_of(int32_t of) const {  // at the largest step
    return of == ETCH_TOKENS ? max_rows : of == ETCH_OUTPUTS ? max_outputs : 1;
  }
  int64_t usual_rows_of(int32_t of) const { return of == ETCH_TOKENS ? usual_rows : 1; }
  int32_t add_slot(Slot slot);  // size is given, bytes are computed
  const Slot& slot(int32_t s) const { return slots[static_cast<size_t>(s)]; }
  Slot& slot(int32_t s) { return slots[static_cast<size_t>(s)]; }
  int32_t root(int32_t s) const {  // the slot whose memory it is
    while (slot(s).same_as >= 0) s = slot(s).same_as;
    return s;
  }
};

// What a call touches, from its arguments (accesses.cc). Slots are named by Place::buffer.
void find_accesses(const Draft& draft, DraftCall& call);

// Every argument set, every slot written before it is read. After each pass.
Status verify_draft(const Draft& draft, std::string_view after);

int32_t rows_of(Rows rows);  // enum etch_rows_of

}  // namespace etch
