// The plain evaluation of every operation: one declaration each, defined in the file of its name or
// of its family, for float and double.
#pragma once

#include "graph/ops/frame.h"
#include "graph/ops/sums.h"

namespace etch::plain {

// clang-format off
template <class T> Status elementwise(Frame<T>& f);       // + - * / % silu ... clamp softcap
template <class T> Status sum(Frame<T>& f);
template <class T> Status softmax(Frame<T>& f);
template <class T> Status norm(Frame<T>& f);              // rmsnorm layernorm l2norm
template <class T> Status embed(Frame<T>& f);
template <class T> Status linear(Frame<T>& f);
template <class T> Status linear_experts(Frame<T>& f);
template <class T> Status matmul(Frame<T>& f);
template <class T> Status rope(Frame<T>& f);
template <class T> Status route(Frame<T>& f);
template <class T> Status expert_weights(Frame<T>& f);
template <class T> Status mix(Frame<T>& f);
template <class T> Status copy(Frame<T>& f);              // views, repeat, outputs_only
template <class T> Status join(Frame<T>& f);              // concat stack
template <class T> Status zeros(Frame<T>& f);
template <class T> Status split(Frame<T>& f);
template <class T> Status attention(Frame<T>& f);
template <class T> Status append(Frame<T>& f);
template <class T> Status select(Frame<T>& f);
template <class T> Status conv1d(Frame<T>& f);
template <class T> Status shift(Frame<T>& f);
template <class T> Status linear_attention(Frame<T>& f);
template <class T> Status compress(Frame<T>& f);
template <class T> Status pool(Frame<T>& f);
// clang-format on

// Adds the rows of input 0 (keys) and input 1 (values, of a cache) to the node's state; attention
// and select do it before they look.
template <class T>
Status append_rows(Frame<T>& f, int k_input, int v_input);

}  // namespace etch::plain

// At the end of an operation's file.
#define ETCH_BOTH_PRECISIONS(function)     \
  template Status function(Frame<float>&); \
  template Status function(Frame<double>&)
