// Graphs of models built by hand, with the sizes of real ones or tiny: a llama, a gemma3 (norms of
// heads, two rotaries, windows, scaled embeddings) and a mixtral (experts). Weights have addresses;
// numbers only where a test wants to run the graph.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "dtypes/random_blocks.h"
#include "graph/builder.h"

namespace etch::model_graphs {

struct Shape {
  std::string name = "SmolLM2-135M";
  int64_t n_layers = 30, d_model = 576, n_heads = 9, n_kv_heads = 3, d_head = 64, d_ff = 1536;
  int64_t n_vocab = 49152;
  bool bias = false;                       // on q, k, v
  bool gemma = false;                      // as gemma3.circuit has it
  int64_t n_experts = 0, n_used = 0;       // as mixtral.circuit has it
  int64_t window = 0, window_pattern = 6;  // gemma: all layers but the last of so many
  DType embedding = DType::q8_0;
  // The type of a tensor: ("attn_v", layer).
  std::function<DType(const std::string&, int64_t)> type = [](const std::string&, int64_t) {
    return DType::q4_1;
  };
  DType norms = DType::f32;
};

inline Shape smollm2() { return {}; }
inline Shape gemma3_270m() {
  Shape s;
  s.name = "gemma-3-270m";
  s.n_layers = 18;
  s.d_model = 640;
  s.n_heads = 4;
  s.n_kv_heads = 1;
  s.d_head = 256;
  s.d_ff = 2048;
  s.n_vocab = 262144;
  s.gemma = true;
  s.window = 512;
  // As a Q4_K_M file has it: rows of 640 are no multiple of 256, so most matrices are Q5_0 or Q8_0.
  s.type = [](const std::string& part, int64_t layer) {
    if (part == "ffn_down") return layer % 3 == 0 ? DType::q6_k : DType::q4_k;
    return part == "attn_v" && layer % 3 == 0 ? DType::q8_0 : DType::q5_0;
  };
  return s;
}
inline Shape tiny(Shape s) {
  s.name = "tiny";
  s.n_layers = 3;
  s.d_model = 256;
  s.n_heads = 4;
  s.n_kv_heads = 2;
  s.d_head = 64;
  s.d_ff = 512;
  s.n_vocab = 96;
  if (s.window > 0) s.window = 8;
  s.window_pattern = 2;
  return s;
}

// The memory of made-up weights; without numbers only addresses, of which none is read.
class Weights {
 public:
  explicit Weights(bool with_numbers, uint64_t seed = 1)
      : with_numbers_(with_numbers), random_(seed) {}

  ValueId add(Builder& b, const std::string& name, DType dtype, std::vector<int64_t> shape) {
    int64_t n = 1;
    for (const int64_t length : shape) n *= length;
    const int64_t bytes = row_bytes(dtype, n);
    const uint8_t* at = nullptr;
    if (with_numbers_) {
      blocks_.push_back(std::make_unique<std::vector<uint8_t>>(
          random_blocks(dtype, random_, shape.size() == 1 ? 1.0f : 0.15f, n)));
      at = blocks_.back()->data();
    } else {
      at = reinterpret_cast<const uint8_t*>(uintptr_t{1} << 20) + next_;
      next_ += (bytes + 31) / 32 * 32;
    }
    return b.weight(name, dtype, std::move(shape), at);
  }

 private:
  bool with_numbers_;
  Random random_;
  int64_t next_ = 0;
  std::vector<std::unique_ptr<std::vector<uint8_t>>> blocks_;
};

inline Rotary rotary(std::string name, int64_t dims, double base, Symbol layout) {
  Rotary r;
  r.name = std::move(name);
  r.layout = layout;
  r.dims = dims;
  for (int64_t i = 0; i < dims / 2; ++i)
    r.frequencies.push_back(static_cast<float>(
        std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(dims))));
  return r;
}

inline Result<Graph> make(const Shape& s, Weights& weights) {
  Builder b(s.name);
  int line = 1;
  const auto at = [&](int layer, int l) {
    line = l;
    b.origin({.file = "circuits/test.circuit", .line = line, .column = 3, .layer = layer});
  };
  const auto part = [&](const std::string& name, int64_t layer, std::vector<int64_t> shape) {
    const DType dtype = shape.size() == 1 ? s.norms : s.type(name, layer);
    const std::string tensor =
        layer < 0 ? name + ".weight" : "blk." + std::to_string(layer) + "." + name + ".weight";
    return weights.add(b, tensor, dtype, std::move(shape));
  };
  constexpr double kEps = 1e-5;
  at(-1, 30);
  const ValueId tokens = b.input("tokens", Rows::tokens, {}, Value::Kind::ids);
  const ValueId table = weights.add(b, "token_embd.weight", s.embedding, {s.n_vocab, s.d_model});
  const Symbol layout = s.gemma ? Symbol::halves : Symbol::pairs;
  const int far = b.rotary(rotary("far", s.d_head, s.gemma ? 1e6 : 1e4, layout));
  const int near = s.gemma ? b.rotary(rotary("near", s.d_head, 1e4, layout)) : far;
  ValueId x = b.embed(table, tokens);
  if (s.gemma) x = b.binary(Op::mul, x, std::sqrt(static_cast<double>(s.d_model)));
  b.name(x, "x");
  for (int64_t l = 0; l < s.n_layers; ++l) {
    const auto layer = static_cast<int>(l);
    const bool local = s.window > 0 && (l + 1) % s.window_pattern != 0;
    const int pos = local ? near : far;
    at(layer, 40);
    const int kv = b.state({.name = "kv[" + std::to_string(l) + "]",
                            .n = s.n_kv_heads,
                            .d_k = s.d_head,
                            .d_v = s.d_head,
                            .layer = layer});
    ValueId h = b.rmsnorm(x, kEps, part("attn_norm", l, {s.d_model}));
    b.name(h, "h");
    const auto project = [&](const std::string& name, int64_t n) {
      const ValueId w = part("attn_" + name, l, {n * s.d_head, s.d_model});
      const ValueId bias =
          s.bias ? weights.add(b, "blk." + std::to_string(l) + ".attn_" + name + ".bias",
                               DType::f32, {n * s.d_head})
                 : kNoValue;
      const ValueId y = b.heads(b.linear(h, w, bias), n);
      b.name(y, name);
      return y;
    };
    const auto turned = [&](ValueId v, const std::string& name) {
      if (s.gemma) v = b.rmsnorm(v, kEps, part("attn_" + name + "_norm", l, {s.d_head}));
      return b.rope(v, pos);
    };
    at(layer, 41);
    const ValueId q = turned(project("q", s.n_heads), "q");
    at(layer, 42);
    const ValueId k = turned(project("k", s.n_kv_heads), "k");
    at(layer, 43);
    const ValueId v = project("v", s.n_kv_heads);
    at(layer, 44);
    const ValueId a = b.attention(q, k, v, kv, 1 / std::sqrt(static_cast<double>(s.d_head)),
                                  {{"window", local ? s.window : int64_t{0}}});
    b.name(a, "a");
    at(layer, 45);
    ValueId o = b.linear(b.merge(a), part("attn_output", l, {s.d_model, s.n_heads * s.d_head}));
    if (s.gemma) o = b.rmsnorm(o, kEps, part("post_attention_norm", l, {s.d_model}));
    x = b.add(x, o);
    b.name(x, "x");
    at(layer, 46);
    h = b.rmsnorm(x, kEps, part("ffn_norm", l, {s.d_model}));
    b.name(h, "h");
    at(layer, 47);
    ValueId y;
    if (s.n_experts > 0) {
      const ValueId scores = b.linear(h, part("ffn_gate_inp", l, {s.n_experts, s.d_model}));
      const ValueId r = b.apply(Op::route, {scores},
                                {{"top", s.n_used}, {"score", Symbol::softmax}, {"renorm", true}});
      const ValueId gate =
          b.linear_experts(h, r, part("ffn_gate_exps", l, {s.n_experts, s.d_ff, s.d_model}));
      const ValueId up =
          b.linear_experts(h, r, part("ffn_up_exps", l, {s.n_experts, s.d_ff, s.d_model}));
      y = b.mix(b.linear_experts(b.mul(b.unary(Op::silu, gate), up), r,
                                 part("ffn_down_exps", l, {s.n_experts, s.d_model, s.d_ff})),
                r);
    } else {
      const ValueId gate = b.linear(h, part("ffn_gate", l, {s.d_ff, s.d_model}));
      const ValueId up = b.linear(h, part("ffn_up", l, {s.d_ff, s.d_model}));
      const ValueId g = b.mul(b.unary(s.gemma ? Op::gelu_tanh : Op::silu, gate), up);
      b.name(g, "g");
      y = b.linear(g, part("ffn_down", l, {s.d_model, s.d_ff}));
    }
    if (s.gemma) y = b.rmsnorm(y, kEps, part("post_ffw_norm", l, {s.d_model}));
    x = b.add(x, y);
    b.name(x, "x");
  }
  at(-1, 50);
  const ValueId last = b.apply(Op::outputs_only, {x});
  const ValueId hidden = b.rmsnorm(last, kEps, part("output_norm", -1, {s.d_model}));
  b.name(hidden, "hidden");
  at(-1, 51);
  ValueId logits = b.linear(hidden, table);
  if (s.gemma) logits = b.softcap(logits, 30);
  b.name(logits, "logits");
  b.output("logits", logits);
  b.output("hidden", hidden);
  return std::move(b).finish();
}

}  // namespace etch::model_graphs
