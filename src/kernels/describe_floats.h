// What kernels.def says of the kernels over float32: norms, elementwise, attention and the like.
#pragma once

#include <algorithm>

#include "kernels/attend_work.h"
#include "kernels/chunks.h"
#include "kernels/describe.h"

namespace etch {
namespace items {

template <class Args>
inline const Args& as(const void* args) {
  return *static_cast<const Args*>(args);
}

template <class Args>
inline int64_t row_items(const void* args, const etch_thread* thread) {
  return count_rows(as<Args>(args).rows, thread);
}
// Rows of d floats.
template <class Args>
inline int64_t row_item_bytes(const void* args) {
  return 4 * as<Args>(args).d;
}

inline int64_t rows_of_step(int32_t of, const etch_thread* thread) {
  return count_rows({of, 1}, thread);
}

constexpr etch_kernel floats(ArgsKind args, int64_t (*items)(const void*, const etch_thread*),
                             int64_t (*item_bytes)(const void*)) {
  etch_kernel k{};
  k.args = args;
  k.items = items;
  k.item_bytes = item_bytes;
  return k;
}

inline int64_t elementwise_items(const void* args, const etch_thread* thread) {
  const auto& e = as<etch_elementwise>(args);
  return rows_of_step(e.rows_of, thread) * e.sizes[0] * e.sizes[1] * e.sizes[2] *
         elementwise_chunks(e);
}
inline int64_t elementwise_item_bytes(const void* args) {
  return 8 * std::min(as<etch_elementwise>(args).sizes[3], kElementwiseChunk);
}

inline int64_t append_items(const void* args, const etch_thread* thread) {
  return as<etch_append>(args).n * thread->step->n_rows;
}
inline int64_t append_item_bytes(const void* args) {
  return 4 * (as<etch_append>(args).d_k + as<etch_append>(args).d_v);
}

inline int64_t attend_items(const void* args, const etch_thread* thread) {
  const auto work = attend_work::count_work(as<etch_attend>(args), *thread);
  return work.tile_items + work.single_items;
}
// Each item looks at up to a whole context: `stop` is looked at after every one.
inline int64_t attend_item_bytes(const void*) { return int64_t{1} << 20; }
inline int64_t attend_scratch_bytes(const void* args) {
  return 4 * attend_work::scratch_floats(as<etch_attend>(args));
}
inline int64_t attend_merge_items(const void* args, const etch_thread* thread) {
  const auto work = attend_work::count_work(as<etch_attend>(args), *thread);
  return work.by_blocks ? work.singles * as<etch_attend>(args).n_q : 0;
}
inline int64_t attend_merge_item_bytes(const void*) { return int64_t{1} << 12; }

inline int64_t route_item_bytes(const void* args) {
  return 4 * int64_t{as<etch_route>(args).n_experts};
}

inline int64_t mix_items(const void* args, const etch_thread* thread) {
  return row_items<etch_mix>(args, thread) * chunks_of(as<etch_mix>(args).d, kMixChunk);
}
inline int64_t mix_item_bytes(const void* args) {
  return 4 * as<etch_mix>(args).n_used * std::min(as<etch_mix>(args).d, kMixChunk);
}

inline int64_t rotary_item_bytes(const void* args) { return 8 * as<etch_rotary>(args).pairs; }

inline int64_t gather_items(const void*, const etch_thread* thread) {
  return thread->step->n_outputs;
}

inline int64_t wire_matmul_items(const void* args, const etch_thread* thread) {
  const auto& w = as<etch_wire_matmul>(args);
  return rows_of_step(w.rows_of, thread) * w.m;
}
inline int64_t wire_matmul_item_bytes(const void* args) {
  return 4 * as<etch_wire_matmul>(args).k * as<etch_wire_matmul>(args).n;
}

}  // namespace items

constexpr etch_kernel describe_embed(DType table) {
  using namespace items;
  etch_kernel k = floats(ArgsKind::embed, row_items<etch_embed>, row_item_bytes<etch_embed>);
  k.weight = table;
  k.input = Representation::i32;
  k.row_multiple = static_cast<int32_t>(block_elements(table));
  return k;
}
constexpr etch_kernel describe_norm() {
  using namespace items;
  return floats(ArgsKind::norm, row_items<etch_norm>, row_item_bytes<etch_norm>);
}
constexpr etch_kernel describe_elementwise() {
  using namespace items;
  return floats(ArgsKind::elementwise, elementwise_items, elementwise_item_bytes);
}
constexpr etch_kernel describe_rotary() {
  using namespace items;
  return floats(ArgsKind::rotary, row_items<etch_rotary>, rotary_item_bytes);
}
constexpr etch_kernel describe_rope() {
  using namespace items;
  return floats(ArgsKind::rope, row_items<etch_rope>, row_item_bytes<etch_rope>);
}
constexpr etch_kernel describe_append(KvType kv) {
  using namespace items;
  etch_kernel k = floats(ArgsKind::append, append_items, append_item_bytes);
  k.kv = kv;
  return k;
}
constexpr etch_kernel describe_attend_step() {
  using namespace items;
  etch_kernel k = floats(ArgsKind::attend, attend_items, attend_item_bytes);
  k.scratch_bytes = attend_scratch_bytes;
  return k;
}
constexpr etch_kernel describe_attend(KvType kv) {
  using namespace items;
  etch_kernel k = describe_attend_step();
  k.kv = kv;
  return k;
}
constexpr etch_kernel describe_attend_merge() {
  using namespace items;
  return floats(ArgsKind::attend, attend_merge_items, attend_merge_item_bytes);
}
constexpr etch_kernel describe_route() {
  using namespace items;
  return floats(ArgsKind::route, row_items<etch_route>, route_item_bytes);
}
constexpr etch_kernel describe_mix() {
  using namespace items;
  return floats(ArgsKind::mix, mix_items, mix_item_bytes);
}
constexpr etch_kernel describe_gather() {
  using namespace items;
  return floats(ArgsKind::gather, gather_items, row_item_bytes<etch_gather>);
}
constexpr etch_kernel describe_wire_matmul() {
  using namespace items;
  return floats(ArgsKind::wire_matmul, wire_matmul_items, wire_matmul_item_bytes);
}

}  // namespace etch
