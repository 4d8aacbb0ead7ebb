// Every operation and what lowers it. An operation that is not here has no kernels yet.
#include "lower/ops/ops.h"

namespace etch {
namespace {

struct Row {
  Op op;
  LowerOp lower;
};

// clang-format off
constexpr Row kTable[] = {
    {Op::add, lower_elementwise},       {Op::sub, lower_elementwise},     {Op::mul, lower_elementwise},
    {Op::div, lower_elementwise},       {Op::mod, lower_elementwise},     {Op::silu, lower_elementwise},
    {Op::gelu, lower_elementwise},      {Op::gelu_tanh, lower_elementwise}, {Op::relu, lower_elementwise},
    {Op::sigmoid, lower_elementwise},   {Op::tanh, lower_elementwise},    {Op::exp, lower_elementwise},
    {Op::ln, lower_elementwise},        {Op::sqrt, lower_elementwise},    {Op::floor, lower_elementwise},
    {Op::square, lower_elementwise},    {Op::softplus, lower_elementwise}, {Op::clamp, lower_elementwise},
    {Op::softcap, lower_elementwise},
    {Op::sum, lower_norm},              {Op::softmax, lower_norm},        {Op::rmsnorm, lower_norm},
    {Op::layernorm, lower_norm},        {Op::l2norm, lower_norm},
    {Op::embed, lower_embed},           {Op::linear, lower_linear},       {Op::matmul, lower_matmul},
    {Op::rope, lower_rope},             {Op::route, lower_route},         {Op::mix, lower_mix},
    {Op::linear_experts, lower_linear_experts}, {Op::expert_weights, lower_expert_weights},
    {Op::heads, lower_view},            {Op::merge, lower_view},          {Op::transpose, lower_view},
    {Op::split, lower_view},            {Op::index, lower_view},          {Op::slice, lower_view},
    {Op::reshape, lower_view},          {Op::permute, lower_view},        {Op::view, lower_view},
    {Op::concat, lower_concat},         {Op::stack, lower_stack},         {Op::repeat, lower_repeat},
    {Op::zeros, lower_zeros},
    {Op::attention, lower_attention},   {Op::append, lower_append},
    {Op::input, lower_source},          {Op::weight, lower_source},       {Op::constant, lower_constant},
    {Op::outputs_only, lower_outputs_only},
};
// clang-format on

}  // namespace

LowerOp lower_op(Op op) {
  for (const Row& row : kTable)
    if (row.op == op) return row.lower;
  return nullptr;
}

}  // namespace etch
