// Random graphs for property tests: wires of a token (or of none) put through random operations,
// with random weights of random types, some of them outputs. The same seed gives the same graph.
#pragma once

#include <string>
#include <vector>

#include "support/model_graphs.h"

namespace etch::random_graph {

class Maker {
 public:
  // With `floats`, weights are of float types and nothing but sums rounds.
  Maker(uint64_t seed, Rows rows, model_graphs::Weights& weights, bool floats = false)
      : random_(seed),
        rows_(rows),
        floats_(floats),
        weights_(weights),
        b_("random " + std::to_string(seed)) {}

  Result<Graph> make(int n_operations) {
    if (rows_ == Rows::tokens) {
      const ValueId tokens = b_.input("tokens", Rows::tokens, {}, Value::Kind::ids);
      const ValueId table = weights_.add(b_, "table", any_type(256), {40, 256});
      add(b_.embed(table, tokens));
      rotary_ =
          b_.rotary(model_graphs::rotary("pos", 32, 1e4, one_of({Symbol::pairs, Symbol::halves})));
    } else {
      add(b_.input("x", Rows::once, {256}));
      add(b_.input("y", Rows::once, {5, 64}));
    }
    for (int i = 0; i < n_operations && !b_.failed(); ++i) {
      if (rows_ == Rows::tokens) b_.origin({.file = "random", .line = i, .layer = i / 8});
      step();
    }
    for (size_t i = 0; i < wires_.size(); ++i) {
      const bool last = i + 1 == wires_.size();
      if (!last && random_.below(6) != 0) continue;
      ValueId v = wires_[i];
      if (rows_ == Rows::tokens && random_.below(2) == 0) v = b_.apply(Op::outputs_only, {v});
      b_.output("out" + std::to_string(i), v);
    }
    return std::move(b_).finish();
  }

  bool every_attention_has_a_cache = false;

 private:
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return *(list.begin() + random_.below(static_cast<int64_t>(list.size())));
  }
  void add(ValueId v) {
    if (v != kNoValue) wires_.push_back(v);
  }
  // Later wires are likelier, so that graphs grow deep as well as wide.
  ValueId any() {
    const auto n = static_cast<int64_t>(wires_.size());
    return wires_[static_cast<size_t>(std::max(random_.below(n), random_.below(n)))];
  }
  const std::vector<int64_t>& shape(ValueId v) const { return b_.value(v).shape; }

  DType any_type(int64_t n_in) {
    if (floats_) return one_of({DType::f32, DType::f16, DType::bf16});
    if (n_in % 256 == 0 && random_.below(2) == 0)
      return one_of(
          {DType::q4_k, DType::q6_k, DType::q2_k, DType::q3_k, DType::q5_k, DType::iq4_xs});
    if (n_in % 32 == 0)
      return one_of({DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1, DType::q8_0, DType::iq4_nl,
                     DType::f16});
    return one_of({DType::f32, DType::f16, DType::bf16});
  }
  ValueId weight(std::vector<int64_t> s, DType type) {
    return weights_.add(b_, "w" + std::to_string(n_weights_++), type, std::move(s));
  }

  void step() {
    const ValueId x = any();
    const std::vector<int64_t> s = shape(x);
    const int64_t last = s.back();
    switch (random_.below(16)) {
      case 0:
        return add(
            b_.unary(one_of({Op::silu, Op::gelu, Op::relu, Op::sigmoid, Op::tanh, Op::square}), x));
      case 1:
        return add(b_.binary(one_of({Op::add, Op::mul, Op::sub}), x, 0.75));
      case 2:
        return add(b_.binary(Op::sub, 1.5, x));
      case 3:
        return binary(x);
      case 4:
        return add(b_.rmsnorm(
            x, 1e-5,
            random_.below(2) == 0 ? kNoValue : weight({last}, one_of({DType::f32, DType::f16}))));
      case 5:
        return add(one_of({b_.unary(Op::softmax, x), b_.l2norm(x, 1e-5), b_.layernorm(x, 1e-5)}));
      case 6:
      case 7:
      case 8:
        return linear(x);
      case 9:
        return glu(x);
      case 10:
        return views(x);
      case 11:
        return put_together(x);
      case 12:
        if (s.size() == 2) return add(b_.apply(Op::matmul, {x, b_.apply(Op::transpose, {x})}));
        return add(b_.softcap(x, 5));
      case 13:
        return attention(x);
      case 14:
        return add(b_.apply(Op::sum, {x}));
      default:
        return add(b_.apply(Op::clamp, {x}, {{"lo", -1.0}, {"hi", 1.0}}));
    }
  }

  void binary(ValueId x) {
    for (int i = 0; i < 8; ++i) {
      const ValueId y = any();
      if (shape(y) != shape(x) && shape(y) != std::vector<int64_t>{shape(x).back()}) continue;
      return add(b_.binary(one_of({Op::add, Op::mul, Op::sub}), x, y));
    }
    add(b_.add(x, weight({shape(x).back()}, DType::f32)));
  }

  void linear(ValueId x) {
    const std::vector<int64_t> s = shape(x);
    const int64_t n_out = one_of<int64_t>({64, 256, 20, 7});
    if (s.size() == 2 && random_.below(3) == 0)
      return add(b_.linear(x, weight({s[0], n_out, s[1]}, any_type(s[1]))));
    const ValueId bias =
        random_.below(3) == 0 ? weight({n_out}, one_of({DType::f32, DType::f16})) : kNoValue;
    ValueId y = b_.linear(x, weight({n_out, s.back()}, any_type(s.back())), bias);
    add(y);
    if (n_out == s.back() && random_.below(2) == 0) add(b_.add(x, y));
  }

  void glu(ValueId x) {
    const int64_t last = shape(x).back();
    const DType type = any_type(last);
    const ValueId gate = b_.linear(x, weight({64, last}, type));
    const ValueId up =
        b_.linear(x, weight({64, last}, random_.below(3) == 0 ? any_type(last) : type));
    const ValueId act =
        random_.below(4) == 0 ? gate : b_.unary(one_of({Op::silu, Op::gelu_tanh}), gate);
    add(random_.below(2) == 0 ? b_.mul(act, up) : b_.mul(up, act));
  }

  void views(ValueId x) {
    const std::vector<int64_t> s = shape(x);
    switch (random_.below(5)) {
      case 0:
        if (s.size() < 3 && s.back() % 4 == 0) return add(b_.heads(x, 4));
        return;
      case 1:
        if (s.size() >= 2) return add(b_.merge(x));
        return;
      case 2:
        if (s.size() == 2) return add(b_.apply(Op::transpose, {x}));
        return;
      case 3:
        if (s.size() >= 2) return add(b_.index(x, random_.below(s[0])));
        if (s[0] >= 8) return add(b_.slice(x, 4, s[0] - 4));
        return;
      default:
        if (s.back() < 8) return;
        for (const ValueId piece : b_.split(x, {s.back() / 2, s.back() - s.back() / 2})) add(piece);
    }
  }

  void put_together(ValueId x) {
    const std::vector<int64_t> s = shape(x);
    if (s.back() > 512) return;
    switch (random_.below(3)) {
      case 0:
        return add(b_.apply(Op::concat, {x, b_.unary(Op::tanh, x)}));
      case 1:
        if (s.size() < 3 && (s.size() == 1 || s[0] <= 8)) return add(b_.apply(Op::stack, {x, x}));
        return;
      default:
        if (s.size() == 2 && s[0] <= 8)
          add(b_.apply(Op::repeat, {x},
                       {{"n", int64_t{2}}, {"kind", one_of({Symbol::tile, Symbol::interleave})}}));
    }
  }

  void attention(ValueId x) {
    if (rows_ != Rows::tokens) return;
    const int64_t last = shape(x).back();
    const auto project = [&](int64_t n) {
      const ValueId y = b_.linear(x, weight({n * 32, last}, any_type(last)));
      return b_.reshape(y, {count(shape(y)) / 32, 32});
    };
    if (count(shape(x)) != last) return;
    ValueId q = project(4), k = project(2);
    const ValueId v = project(2);
    if (random_.below(3) != 0) {
      q = b_.rope(q, rotary_);
      k = b_.rope(k, rotary_);
    }
    int state = -1;
    if (random_.below(3) != 0 || every_attention_has_a_cache) {
      const auto layer = static_cast<int>(n_states_++);
      state = b_.state({.name = "kv[" + std::to_string(layer) + "]",
                        .n = 2,
                        .d_k = 32,
                        .d_v = 32,
                        .layer = layer});
    }
    const int64_t window = random_.below(2) == 0 ? 5 : 0;
    const ValueId a = b_.attention(q, k, v, state, 0.17, {{"window", window}});
    add(b_.merge(a));
  }

  static int64_t count(const std::vector<int64_t>& s) {
    int64_t n = 1;
    for (const int64_t length : s) n *= length;
    return n;
  }

  Random random_;
  Rows rows_;
  bool floats_;
  model_graphs::Weights& weights_;
  Builder b_;
  std::vector<ValueId> wires_;
  int rotary_ = -1;
  int64_t n_weights_ = 0, n_states_ = 0;
};

}  // namespace etch::random_graph
