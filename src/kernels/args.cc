// The fields of every argument struct, in the order of model_abi.h.
#include <cstddef>
#include <iterator>

#include "base/check.h"
#include "kernels/kernel.h"

namespace etch {
namespace {

using Type = ArgField::Type;
#define P(s, f) \
  { #f, Type::pointer, offsetof(s, f) }
#define L(s, f) \
  { #f, Type::i64, offsetof(s, f) }
#define I(s, f) \
  { #f, Type::i32, offsetof(s, f) }
#define F(s, f) \
  { #f, Type::f32, offsetof(s, f) }
#define O(s, f) \
  { #f, Type::rows_of, offsetof(s, f) }
#define N(s, f) \
  { #f, Type::call, offsetof(s, f) }
#define V(s, f) P(s, f.at), L(s, f.row_stride), L(s, f.inner_stride)
#define R(s) O(s, rows.of), I(s, rows.per)
#define S4(s, f) L(s, f[0]), L(s, f[1]), L(s, f[2]), L(s, f[3])

// clang-format off
constexpr ArgField kEmbed[] = {P(etch_embed, table), P(etch_embed, ids), V(etch_embed, y), L(etch_embed, d), L(etch_embed, n_table), F(etch_embed, factor), R(etch_embed)};
constexpr ArgField kNorm[] = {V(etch_norm, x), P(etch_norm, weight), P(etch_norm, bias), V(etch_norm, y), P(etch_norm, packed), L(etch_norm, d), L(etch_norm, weight_stride), F(etch_norm, eps), R(etch_norm)};
constexpr ArgField kQuantize[] = {V(etch_quantize, x), P(etch_quantize, packed), L(etch_quantize, d), R(etch_quantize)};
constexpr ArgField kMatmul[] = {P(etch_matmul, weight), P(etch_matmul, gate), P(etch_matmul, x), P(etch_matmul, bias), P(etch_matmul, gate_bias), P(etch_matmul, residual), P(etch_matmul, y), P(etch_matmul, scratch), L(etch_matmul, n_in), L(etch_matmul, n_out), L(etch_matmul, row_bytes), L(etch_matmul, x_stride), L(etch_matmul, y_stride), L(etch_matmul, residual_stride), I(etch_matmul, activation), R(etch_matmul), N(etch_matmul, next)};
constexpr ArgField kExpertMatmul[] = {P(etch_expert_matmul, base), P(etch_expert_matmul, weights), P(etch_expert_matmul, gates), P(etch_expert_matmul, bias), P(etch_expert_matmul, gate_bias), P(etch_expert_matmul, experts), P(etch_expert_matmul, order), P(etch_expert_matmul, x), P(etch_expert_matmul, y), P(etch_expert_matmul, scratch), L(etch_expert_matmul, n_in), L(etch_expert_matmul, n_out), L(etch_expert_matmul, row_bytes), L(etch_expert_matmul, x_stride), I(etch_expert_matmul, x_per_slot), I(etch_expert_matmul, n_used), I(etch_expert_matmul, n_experts), I(etch_expert_matmul, divisor), I(etch_expert_matmul, activation), R(etch_expert_matmul)};
constexpr ArgField kExpertOrder[] = {P(etch_expert_order, experts), P(etch_expert_order, order), I(etch_expert_order, n_used), I(etch_expert_order, n_experts), R(etch_expert_order)};
constexpr ArgField kMix[] = {P(etch_mix, weights), V(etch_mix, x), V(etch_mix, y), L(etch_mix, d), I(etch_mix, n_used), R(etch_mix)};
constexpr ArgField kRoute[] = {V(etch_route, scores), P(etch_route, bias), P(etch_route, chosen), P(etch_route, experts), P(etch_route, weights), I(etch_route, n_experts), I(etch_route, top), I(etch_route, score), I(etch_route, groups), I(etch_route, top_groups), I(etch_route, renorm), F(etch_route, scale), R(etch_route)};
constexpr ArgField kRotary[] = {P(etch_rotary, frequencies), P(etch_rotary, y), L(etch_rotary, pairs), F(etch_rotary, magnitude), R(etch_rotary)};
constexpr ArgField kRope[] = {V(etch_rope, x), V(etch_rope, y), P(etch_rope, table), L(etch_rope, d), L(etch_rope, pairs), I(etch_rope, layout), I(etch_rope, inverse), R(etch_rope)};
constexpr ArgField kAppend[] = {V(etch_append, k), V(etch_append, v), P(etch_append, table), L(etch_append, n), L(etch_append, d_k), L(etch_append, d_v), L(etch_append, pairs), I(etch_append, layout), I(etch_append, state)};
constexpr ArgField kAttend[] = {V(etch_attend, q), V(etch_attend, k), V(etch_attend, v), V(etch_attend, y), P(etch_attend, table), P(etch_attend, sinks), P(etch_attend, slopes), P(etch_attend, relative), P(etch_attend, partials), P(etch_attend, scratch), L(etch_attend, n_q), L(etch_attend, n_kv), L(etch_attend, d_k), L(etch_attend, d_v), L(etch_attend, pairs), L(etch_attend, window), L(etch_attend, chunk), L(etch_attend, buckets), L(etch_attend, reach), F(etch_attend, scale), F(etch_attend, softcap), I(etch_attend, full), I(etch_attend, layout), I(etch_attend, state)};
constexpr ArgField kElementwise[] = {P(etch_elementwise, a), P(etch_elementwise, b), P(etch_elementwise, y), S4(etch_elementwise, sizes), S4(etch_elementwise, a_strides), S4(etch_elementwise, b_strides), S4(etch_elementwise, y_strides), F(etch_elementwise, constant), F(etch_elementwise, lo), F(etch_elementwise, hi), I(etch_elementwise, op), O(etch_elementwise, rows_of)};
constexpr ArgField kGather[] = {V(etch_gather, x), V(etch_gather, y), L(etch_gather, d)};
constexpr ArgField kWireMatmul[] = {V(etch_wire_matmul, a), V(etch_wire_matmul, b), V(etch_wire_matmul, y), L(etch_wire_matmul, m), L(etch_wire_matmul, k), L(etch_wire_matmul, n), L(etch_wire_matmul, b_column_stride), O(etch_wire_matmul, rows_of)};

const ArgsInfo kAll[] = {
    {"etch_embed", sizeof(etch_embed), kEmbed},
    {"etch_norm", sizeof(etch_norm), kNorm},
    {"etch_quantize", sizeof(etch_quantize), kQuantize},
    {"etch_matmul", sizeof(etch_matmul), kMatmul},
    {"etch_expert_matmul", sizeof(etch_expert_matmul), kExpertMatmul},
    {"etch_expert_order", sizeof(etch_expert_order), kExpertOrder},
    {"etch_mix", sizeof(etch_mix), kMix},
    {"etch_route", sizeof(etch_route), kRoute},
    {"etch_rotary", sizeof(etch_rotary), kRotary},
    {"etch_rope", sizeof(etch_rope), kRope},
    {"etch_append", sizeof(etch_append), kAppend},
    {"etch_attend", sizeof(etch_attend), kAttend},
    {"etch_elementwise", sizeof(etch_elementwise), kElementwise},
    {"etch_gather", sizeof(etch_gather), kGather},
    {"etch_wire_matmul", sizeof(etch_wire_matmul), kWireMatmul},
};
// clang-format on
static_assert(std::size(kAll) == static_cast<size_t>(ArgsKind::wire_matmul) + 1);

}  // namespace

const ArgsInfo& info(ArgsKind kind) { return kAll[static_cast<size_t>(kind)]; }

}  // namespace etch
