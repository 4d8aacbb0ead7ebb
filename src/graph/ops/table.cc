#include "graph/ops/operations.h"

namespace etch {

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
      return plain::elementwise<T>;
    case Op::sum:
      return plain::sum<T>;
    case Op::softmax:
      return plain::softmax<T>;
    case Op::rmsnorm:
    case Op::layernorm:
    case Op::l2norm:
      return plain::norm<T>;
    case Op::embed:
      return plain::embed<T>;
    case Op::linear:
      return plain::linear<T>;
    case Op::linear_experts:
      return plain::linear_experts<T>;
    case Op::matmul:
      return plain::matmul<T>;
    case Op::rope:
      return plain::rope<T>;
    case Op::route:
      return plain::route<T>;
    case Op::expert_weights:
      return plain::expert_weights<T>;
    case Op::mix:
      return plain::mix<T>;
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
      return plain::copy<T>;
    case Op::concat:
    case Op::stack:
      return plain::join<T>;
    case Op::split:
      return plain::split<T>;
    case Op::zeros:
      return plain::zeros<T>;
    case Op::attention:
      return plain::attention<T>;
    case Op::append:
      return plain::append<T>;
    case Op::select:
      return plain::select<T>;
    case Op::conv1d:
      return plain::conv1d<T>;
    case Op::shift:
      return plain::shift<T>;
    case Op::linear_attention:
      return plain::linear_attention<T>;
    case Op::compress:
      return plain::compress<T>;
    case Op::pool:
      return plain::pool<T>;
    case Op::input:
    case Op::weight:
    case Op::constant:
      break;  // sources: interpret() fills them
  }
  return nullptr;
}

template Evaluation<float> evaluation_of(Op);
template Evaluation<double> evaluation_of(Op);

}  // namespace etch
