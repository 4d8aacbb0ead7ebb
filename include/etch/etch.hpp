// etch.hpp: etch from C++. Here: tensor graphs by hand.
//
// A GraphBuilder takes inputs, weights (from memory or from a GGUF file), operations and outputs.
// It is built once into a TensorGraph, whose memory is planned once; running it allocates nothing.
//
//   etch::GraphBuilder b;
//   etch::Tensor x = b.input("x", {16, 64});
//   etch::Tensor w = b.weight(etch::ElementType::q8_0, {32, 64}, blocks.data(), blocks.size());
//   b.output("y", b.relu(b.linear(x, w)));
//
//   etch::TensorGraph graph;
//   if (etch::Outcome built = b.build(graph); !built) return complain(built.message());
//   std::copy(numbers.begin(), numbers.end(), graph.input("x").begin());
//   graph.run();
//   std::span<const float> y = graph.output("y");  // [16, 32]
//
// Shapes are written outermost first, the last axis is contiguous; up to four axes. A mistake is
// remembered: later calls give tensors without a value, and build() says what was wrong first.
// Nothing throws but what allocation throws. Objects are not shared between threads without care of
// your own; different objects are independent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etch {

// Types of elements, by their number in GGUF files. Blocks lie along the last axis.
enum class ElementType : uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q2_k = 10,
  q3_k = 11,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  iq4_nl = 20,
  iq4_xs = 23,
  i32 = 26,
  bf16 = 30,
};

// Bytes of `rows` rows of `columns` elements; 0 where columns are no whole blocks.
size_t bytes_of(ElementType type, int64_t rows, int64_t columns);

// Whether something worked, and if not, why.
class Outcome {
 public:
  Outcome() = default;
  Outcome(int32_t code, std::string message) : code_(code), message_(std::move(message)) {}
  explicit operator bool() const { return code_ == 0; }
  int32_t code() const { return code_; }  // 0, or an exit code of the command line
  const std::string& message() const { return message_; }

 private:
  int32_t code_ = 0;
  std::string message_;
};

// A value of a graph under construction: a number, good for the builder that gave it.
struct Tensor {
  int32_t id = -1;
};

using TensorShape = std::vector<int64_t>;

struct RunOptions {
  int32_t threads = 0;  // 0: what this process may really use
};

// A graph that is ready to run.
class TensorGraph {
 public:
  TensorGraph();
  TensorGraph(TensorGraph&&) noexcept;
  TensorGraph& operator=(TensorGraph&&) noexcept;
  ~TensorGraph();

  // Where the next run reads from: fill it. Empty where there is no input of that name and type.
  std::span<float> input(std::string_view name);
  std::span<int32_t> input_ids(std::string_view name);
  Outcome run();
  // What the last run gave. Empty where there is no output of that name.
  std::span<const float> output(std::string_view name) const;

  int64_t planned_bytes() const;  // of memory beside the weights

 private:
  friend class GraphBuilder;
  struct State;
  std::unique_ptr<State> state_;
};

struct AttentionOptions {
  float scale = 1;
  bool causal = true;  // else every row sees every other
  int64_t window =
      0;              // causal: rows it sees, itself included; else half of it to each side; 0: all
  float softcap = 0;  // 0: without
};

class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name = "graph");
  GraphBuilder(GraphBuilder&&) noexcept;
  GraphBuilder& operator=(GraphBuilder&&) noexcept;
  ~GraphBuilder();

  // --- what flows in
  Tensor input(std::string_view name, TensorShape shape);
  Tensor input_ids(std::string_view name, TensorShape shape);          // int32, for embed
  Tensor constant(TensorShape shape, std::span<const float> numbers);  // copied
  // Weights stay where they are: the memory must outlive the TensorGraph.
  Tensor weight(ElementType type, TensorShape shape, const void* data, size_t bytes);
  Tensor file_weight(std::string_view tensor);  // of the file in use
  Outcome use_file(const std::string& path);    // one GGUF file, before the first weight of it

  // --- element by element; shapes broadcast where lengths are equal or 1, aligned at the last axis
  Tensor add(Tensor a, Tensor b);
  Tensor sub(Tensor a, Tensor b);
  Tensor mul(Tensor a, Tensor b);
  Tensor div(Tensor a, Tensor b);
  Tensor add(Tensor a, float b);
  Tensor mul(Tensor a, float b);
  Tensor silu(Tensor x);
  Tensor gelu(Tensor x);       // with erf
  Tensor gelu_tanh(Tensor x);  // the tanh approximation
  Tensor relu(Tensor x);
  Tensor sigmoid(Tensor x);
  Tensor tanh(Tensor x);
  Tensor exp(Tensor x);
  Tensor ln(Tensor x);
  Tensor sqrt(Tensor x);
  Tensor floor(Tensor x);
  Tensor square(Tensor x);
  Tensor softplus(Tensor x);
  Tensor clamp(Tensor x, float lo, float hi);
  Tensor softcap(Tensor x, float cap);  // cap * tanh(x / cap)

  // --- over the last axis
  Tensor sum(Tensor x);  // [.., d] -> [.., 1]
  Tensor softmax(Tensor x);
  Tensor rmsnorm(Tensor x, float eps, Tensor weight = {});
  Tensor layernorm(Tensor x, float eps, Tensor weight = {}, Tensor bias = {});
  Tensor l2norm(Tensor x, float eps);

  // --- products
  Tensor linear(Tensor x, Tensor weight, Tensor bias = {});  // [.., i], [o, i] -> [.., o]
  Tensor matmul(Tensor a, Tensor b);                         // [m, k], [k, n] -> [m, n]
  Tensor embed(Tensor table, Tensor ids);                    // [n, d], [..] -> [.., d]

  // --- the same numbers, seen otherwise
  Tensor reshape(Tensor x, TensorShape shape);
  Tensor permute(Tensor x,
                 std::initializer_list<int64_t> axes);  // axis i of the result: axes[i] of x
  Tensor transpose(Tensor x);                           // of two axes
  Tensor view(Tensor x, TensorShape starts, TensorShape lengths);  // a range of each axis
  std::vector<Tensor> split(Tensor x, TensorShape sizes);          // pieces of the last axis
  Tensor concat(std::initializer_list<Tensor> pieces);             // last axis
  Tensor stack(std::initializer_list<Tensor> pieces);              // first axis
  Tensor repeat(Tensor x, int64_t n);                              // first axis, n times over

  // --- rows that see each other: q [t, n_q, d_k], k [t, n_kv, d_k], v [t, n_kv, d_v] -> [t, n_q,
  // d_v]
  Tensor attention(Tensor q, Tensor k, Tensor v, const AttentionOptions& options);

  // --- results
  void output(std::string_view name, Tensor x);
  TensorShape shape(Tensor x) const;  // empty for a tensor without a value
  Outcome status() const;             // the first mistake so far
  // Plans memory, picks kernels, starts threads. The builder is used up.
  Outcome build(TensorGraph& graph, const RunOptions& options = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace etch
