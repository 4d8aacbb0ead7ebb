#include "graph/ops/operations.h"

namespace etch::plain {

template <class T>
Evaluation<T> evaluation_of(Op op) {
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::mod:
    case Op::silu:
    case Op::gelu:
    case Op::gelu_tanh:
    case Op::relu:
    case Op::sigmoid:
    case Op::tanh:
    case Op::exp:
    case Op::ln:
    case Op::sqrt:
    case Op::floor:
    case Op::square:
    case Op::softplus:
    case Op::clamp:
    case Op::softcap:
      return elementwise<T>;
    case Op::sum:
      return sum<T>;
    case Op::softmax:
      return softmax<T>;
    case Op::rmsnorm:
    case Op::layernorm:
    case Op::l2norm:
      return norm<T>;
    case Op::embed:
      return embed<T>;
    case Op::linear:
      return linear<T>;
    case Op::linear_experts:
      return linear_experts<T>;
    case Op::matmul:
      return matmul<T>;
    case Op::rope:
      return rope<T>;
    case Op::route:
      return route<T>;
    case Op::expert_weights:
      return expert_weights<T>;
    case Op::mix:
      return mix<T>;
    case Op::heads:
    case Op::merge:
    case Op::transpose:
    case Op::index:
    case Op::slice:
    case Op::repeat:
    case Op::reshape:
    case Op::permute:
    case Op::view:
    case Op::outputs_only:
      return copy<T>;
    case Op::concat:
    case Op::stack:
      return join<T>;
    case Op::split:
      return split<T>;
    case Op::zeros:
      return zeros<T>;
    case Op::attention:
      return attention<T>;
    case Op::append:
      return append<T>;
    case Op::select:
      return select<T>;
    case Op::conv1d:
      return conv1d<T>;
    case Op::shift:
      return shift<T>;
    case Op::linear_attention:
      return linear_attention<T>;
    case Op::compress:
      return compress<T>;
    case Op::pool:
      return pool<T>;
    case Op::input:
    case Op::weight:
    case Op::constant:
      break;  // sources: interpret() fills them
  }
  return nullptr;
}

template Evaluation<float> evaluation_of(Op);
template Evaluation<double> evaluation_of(Op);

}  // namespace etch::plain
