#include "kernels/describe_floats.h"

#include <algorithm>

#include "kernels/attend_work.h"
#include "kernels/chunks.h"
#include "kernels/kv_page.h"

namespace etch {
namespace {

template <class Args>
const Args& as(const void* args) {
  return *static_cast<const Args*>(args);
}

template <class Args>
int64_t row_items(const void* args, const etch_thread* thread) {
  return count_rows(as<Args>(args).rows, thread);
}
// Rows of d floats.
template <class Args>
int64_t row_item_bytes(const void* args) {
  return 4 * as<Args>(args).d;
}

int64_t rows_of_step(int32_t of, const etch_thread* thread) { return count_rows({of, 1}, thread); }

int64_t kv_number_bytes(KvType type) {
  switch (type) {
    case KvType::f32:
      return 4;
    case KvType::f16:
    case KvType::bf16:
      return 2;
    case KvType::q8_0:
      return 1;
  }
  return 0;
}

etch_kernel floats(ArgsKind args, int64_t (*items)(const void*, const etch_thread*),
                   int64_t (*item_bytes)(const void*)) {
  etch_kernel k{};
  k.args = args;
  k.items = items;
  k.item_bytes = item_bytes;
  return k;
}

int64_t elementwise_items(const void* args, const etch_thread* thread) {
  const auto& e = as<etch_elementwise>(args);
  return rows_of_step(e.rows_of, thread) * e.sizes[0] * e.sizes[1] * e.sizes[2] *
         elementwise_chunks(e);
}
int64_t elementwise_item_bytes(const void* args) {
  return 8 * std::min(as<etch_elementwise>(args).sizes[3], kElementwiseChunk);
}

int64_t append_items(const void* args, const etch_thread* thread) {
  return as<etch_append>(args).n * thread->step->n_rows;
}
int64_t append_item_bytes(const void* args) {
  return 4 * (as<etch_append>(args).d_k + as<etch_append>(args).d_v);
}

int64_t attend_items(const void* args, const etch_thread* thread) {
  const auto work = attend_work::count_work(as<etch_attend>(args), *thread);
  return work.tile_items + work.single_items;
}
// Each item looks at up to a whole context: `stop` is looked at after every one.
int64_t attend_item_bytes(const void*) { return int64_t{1} << 20; }
int64_t attend_scratch_bytes(const void* args) {
  return 4 * attend_work::scratch_floats(as<etch_attend>(args));
}
int64_t attend_merge_items(const void* args, const etch_thread* thread) {
  const auto work = attend_work::count_work(as<etch_attend>(args), *thread);
  return work.by_blocks ? work.singles * as<etch_attend>(args).n_q : 0;
}
int64_t attend_merge_item_bytes(const void*) { return int64_t{1} << 12; }

int64_t route_item_bytes(const void* args) { return 4 * int64_t{as<etch_route>(args).n_experts}; }

int64_t mix_items(const void* args, const etch_thread* thread) {
  return row_items<etch_mix>(args, thread) * chunks_of(as<etch_mix>(args).d, kMixChunk);
}
int64_t mix_item_bytes(const void* args) {
  return 4 * as<etch_mix>(args).n_used * std::min(as<etch_mix>(args).d, kMixChunk);
}

int64_t rotary_item_bytes(const void* args) { return 8 * as<etch_rotary>(args).pairs; }

int64_t gather_items(const void*, const etch_thread* thread) { return thread->step->n_outputs; }

int64_t wire_matmul_items(const void* args, const etch_thread* thread) {
  const auto& w = as<etch_wire_matmul>(args);
  return rows_of_step(w.rows_of, thread) * w.m;
}
int64_t wire_matmul_item_bytes(const void* args) {
  return 4 * as<etch_wire_matmul>(args).k * as<etch_wire_matmul>(args).n;
}

}  // namespace

etch_kernel describe_embed(DType table) {
  etch_kernel k = floats(ArgsKind::embed, row_items<etch_embed>, row_item_bytes<etch_embed>);
  k.weight = table;
  k.input = Representation::i32;
  k.row_multiple = static_cast<int32_t>(info(table).block_elements);
  return k;
}
etch_kernel describe_norm() {
  return floats(ArgsKind::norm, row_items<etch_norm>, row_item_bytes<etch_norm>);
}
etch_kernel describe_elementwise() {
  return floats(ArgsKind::elementwise, elementwise_items, elementwise_item_bytes);
}
etch_kernel describe_rotary() {
  return floats(ArgsKind::rotary, row_items<etch_rotary>, rotary_item_bytes);
}
etch_kernel describe_rope() {
  return floats(ArgsKind::rope, row_items<etch_rope>, row_item_bytes<etch_rope>);
}
etch_kernel describe_append(KvType kv) {
  etch_kernel k = floats(ArgsKind::append, append_items, append_item_bytes);
  k.kv = kv;
  return k;
}
etch_kernel describe_attend_step() {
  etch_kernel k = floats(ArgsKind::attend, attend_items, attend_item_bytes);
  k.scratch_bytes = attend_scratch_bytes;
  return k;
}
etch_kernel describe_attend(KvType kv) {
  etch_kernel k = describe_attend_step();
  k.kv = kv;
  return k;
}
etch_kernel describe_attend_merge() {
  return floats(ArgsKind::attend, attend_merge_items, attend_merge_item_bytes);
}
etch_kernel describe_route() {
  return floats(ArgsKind::route, row_items<etch_route>, route_item_bytes);
}
etch_kernel describe_mix() { return floats(ArgsKind::mix, mix_items, mix_item_bytes); }
etch_kernel describe_gather() {
  return floats(ArgsKind::gather, gather_items, row_item_bytes<etch_gather>);
}
etch_kernel describe_wire_matmul() {
  return floats(ArgsKind::wire_matmul, wire_matmul_items, wire_matmul_item_bytes);
}

int64_t kv_page_bytes(KvType type, int64_t n, int64_t d_k, int64_t d_v) {
  return n * kv::head_bytes(kv_number_bytes(type), d_k, d_v);
}

// Blocks are shared out for at most so many rows that their kv heads are fewer than four a thread.
int64_t attend_partial_floats(int64_t n_q, int64_t n_kv, int64_t d_v, int64_t n_ctx,
                              int64_t n_threads) {
  if (!attend_work::splits_blocks(1, n_kv, n_threads)) return 0;
  const int64_t rows = (4 * n_threads - 1) / n_kv;
  const int64_t blocks = attend_work::ceil_div(n_ctx, attend_work::kBlock);
  return rows * blocks * n_q * attend_work::partial_floats(d_v);
}

}  // namespace etch
