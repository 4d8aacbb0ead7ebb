// A two-layer perceptron on quantised weights, as a tensor graph by hand:
//
//   y = w2 relu(w1 x + b1)          x [4, 64], w1 [128, 64] and w2 [10, 128] in Q8_0
//
// The weights are made and quantised here; a real program would take them from a GGUF file with
// use_file() and file_weight().
#include <etch/etch.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

// Q8_0: blocks of 32 bytes that share a half-precision scale.   [ d:f16 | q:32 x i8 ]
// The scale is taken as a power of two, whose half float is its exponent alone.
std::vector<uint8_t> quantise(const std::vector<float>& numbers) {
  constexpr size_t kBlock = 32;
  std::vector<uint8_t> blocks;
  for (size_t first = 0; first < numbers.size(); first += kBlock) {
    float largest = 1e-4f;
    for (size_t i = 0; i < kBlock; ++i) largest = std::fmax(largest, std::fabs(numbers[first + i]));
    const int exponent = static_cast<int>(std::ceil(std::log2(largest / 127)));
    const uint16_t scale = static_cast<uint16_t>((exponent + 15) << 10);
    blocks.push_back(static_cast<uint8_t>(scale & 0xff));
    blocks.push_back(static_cast<uint8_t>(scale >> 8));
    for (size_t i = 0; i < kBlock; ++i) {
      const auto q = static_cast<int8_t>(std::lround(std::ldexp(numbers[first + i], -exponent)));
      blocks.push_back(static_cast<uint8_t>(q));
    }
  }
  return blocks;
}

std::vector<float> wave(size_t n, float step) {
  std::vector<float> numbers(n);
  for (size_t i = 0; i < n; ++i) numbers[i] = std::sin(step * static_cast<float>(i + 1));
  return numbers;
}

}  // namespace

int main() {
  constexpr int64_t kBatch = 4, kIn = 64, kHidden = 128, kOut = 10;
  using etch::ElementType;
  const std::vector<uint8_t> w1 = quantise(wave(kHidden * kIn, 0.37f));
  const std::vector<uint8_t> w2 = quantise(wave(kOut * kHidden, 0.91f));

  etch::GraphBuilder b("perceptron");
  const etch::Tensor x = b.input("x", {kBatch, kIn});
  const etch::Tensor hidden =
      b.relu(b.add(b.linear(x, b.weight(ElementType::q8_0, {kHidden, kIn}, w1.data(), w1.size())),
                   b.constant({kHidden}, wave(kHidden, 0.05f))));
  b.output("y",
           b.linear(hidden, b.weight(ElementType::q8_0, {kOut, kHidden}, w2.data(), w2.size())));

  etch::TensorGraph graph;
  if (const etch::Outcome built = b.build(graph); !built) {
    std::fprintf(stderr, "%s\n", built.message().c_str());
    return built.code();
  }
  // Any number of runs: fill the inputs, run, read the outputs. Nothing is allocated here.
  for (int run = 0; run < 3; ++run) {
    const std::span<float> in = graph.input("x");
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = std::cos(0.1f * static_cast<float>(i + 1) + static_cast<float>(run));
    if (const etch::Outcome ran = graph.run(); !ran) {
      std::fprintf(stderr, "%s\n", ran.message().c_str());
      return ran.code();
    }
    const std::span<const float> y = graph.output("y");
    std::printf("run %d: y[0] =", run);
    for (int64_t i = 0; i < kOut; ++i) std::printf(" %.3f", y[static_cast<size_t>(i)]);
    std::printf("\n");
  }
  return 0;
}
