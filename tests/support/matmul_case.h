// Matrix products with random weights of any type, run through the registry the way an executor
// does it: inputs are quantised by their kernels, items are shared out by etch_call, each thread
// has its own scratch.
#pragma once

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "dtypes/blocks.h"
#include "dtypes/dtype.h"
#include "dtypes/float16.h"
#include "kernels/kernel.h"
#include "support/guarded.h"

namespace etch::test {

// Random rows of a type: any code is valid, only scales must be sane.
inline void fill_random_weights(DType type, uint8_t* out, int64_t n_elements,
                                std::mt19937& random) {
  const DTypeInfo& t = info(type);
  const int64_t n = n_elements / t.block_elements;
  std::uniform_real_distribution<float> near_one(0.25f, 1.0f), value(-1.0f, 1.0f);
  if (t.state == DTypeState::plain) {
    for (int64_t i = 0; i < n; ++i) {
      const float x = value(random);
      const uint16_t half = type == DType::f16 ? f32_to_f16(x) : f32_to_bf16(x);
      std::memcpy(out + i * t.block_bytes,
                  type == DType::f32 ? static_cast<const void*>(&x) : &half,
                  static_cast<size_t>(t.block_bytes));
    }
    return;
  }
  for (int64_t i = 0; i < n * t.block_bytes; ++i) out[i] = static_cast<uint8_t>(random());
  const auto put = [&](uint8_t* block, size_t at, float x) {
    const uint16_t half = f32_to_f16(x);
    std::memcpy(block + at, &half, 2);
  };
  for (int64_t i = 0; i < n; ++i) {
    uint8_t* const b = out + i * t.block_bytes;
    const float d = near_one(random) / 64, m = near_one(random) / 64;
    const float sign = random() % 2 != 0 ? 1.0f : -1.0f;
    switch (type) {
      case DType::q4_1:
      case DType::q5_1:
        put(b, 0, d), put(b, 2, sign * m * 8);
        break;
      case DType::q2_k:
        put(b, 80, d), put(b, 82, m);
        break;
      case DType::q3_k:
        put(b, 108, sign * d);
        break;
      case DType::q4_k:
      case DType::q5_k:
        put(b, 0, d / 16), put(b, 2, m / 4);
        break;
      case DType::q6_k:
        put(b, 208, sign * d / 64);
        break;
      default:
        put(b, 0, sign * d);
        break;  // the rest begins with d
    }
  }
}

struct MatmulCase {
  DType type = DType::q4_1;
  int64_t n_out = 16, n_in = 256, n_rows = 1;
  bool bias = false, gate = false, residual = false;
  etch_activation activation = ETCH_ACT_NONE;
  uint32_t seed = 1;
};

// What a case multiplies, and how.
class Matmul {
 public:
  explicit Matmul(const MatmulCase& c)
      : c_(c),
        row_bytes_(row_bytes(c.type, c.n_in)),
        weight_(c.n_out * row_bytes_),
        gate_(c.gate ? c.n_out * row_bytes_ : 0),
        x_(4 * c.n_rows * c.n_in),
        bias_(4 * c.n_out),
        gate_bias_(4 * c.n_out),
        residual_(4 * c.n_rows * c.n_out) {
    std::mt19937 random(c.seed);
    fill_random_weights(c.type, weight_.data(), c.n_out * c.n_in, random);
    if (c.gate) fill_random_weights(c.type, gate_.data(), c.n_out * c.n_in, random);
    std::normal_distribution<float> normal(0.0f, 1.0f);
    for (const Guarded* g : {&x_, &bias_, &gate_bias_, &residual_})
      for (int64_t i = 0; i < g->size() / 4; ++i) g->as<float>()[i] = normal(random);
    for (Guarded* g : {&weight_, &gate_, &x_, &bias_, &gate_bias_, &residual_}) g->protect();
  }

  const MatmulCase& sizes() const { return c_; }
  const uint8_t* weight() const { return weight_.data(); }
  const uint8_t* gate() const { return gate_.data(); }
  const float* x() const { return x_.as<float>(); }
  const float* bias() const { return bias_.as<float>(); }
  const float* gate_bias() const { return gate_bias_.as<float>(); }
  const float* residual() const { return residual_.as<float>(); }

  // The result of a kernel: float32 [n_rows, n_out]. A residual is added in place. `pieces` calls
  // the kernel for so many items at a time instead of through etch_call.
  std::vector<float> run(std::string_view kernel_name, etch_isa isa, int32_t n_threads = 1,
                         int64_t piece = 0) const {
    const etch_kernel* const kernel = find_kernel(kernel_name);
    ETCH_CHECK(kernel != nullptr, "no kernel {}", kernel_name);
    std::vector<int32_t> failed(static_cast<size_t>(c_.n_rows));
    etch_step step{};
    step.n_rows = static_cast<int32_t>(c_.n_rows);
    step.failed = failed.data();

    Guarded y(4 * c_.n_rows * c_.n_out);
    if (c_.residual) std::memcpy(y.data(), residual_.data(), static_cast<size_t>(y.size()));
    Guarded quantised(activation_bytes(kernel->input, c_.n_in, c_.n_rows));
    if (kernel->input == Representation::f32) {
      std::memcpy(quantised.data(), x_.data(), static_cast<size_t>(x_.size()));
    } else {
      etch_quantize q{};
      q.x = {x_.data(), 4 * c_.n_in, 0};
      q.packed = quantised.data();
      q.d = c_.n_in;
      q.rows = {ETCH_TOKENS, 1};
      share_out(*find_kernel("quantize_" + std::string(name(kernel->input))), isa, &q, &step,
                n_threads, 0);
    }
    etch_matmul m{};
    m.weight = weight_.data();
    m.gate = c_.gate ? gate_.data() : nullptr;
    m.x = quantised.data();
    m.bias = c_.bias ? bias_.as<float>() : nullptr;
    m.gate_bias = c_.bias && c_.gate ? gate_bias_.as<float>() : nullptr;
    m.residual = c_.residual ? y.data() : nullptr;
    m.y = y.data();
    m.n_in = c_.n_in;
    m.n_out = c_.n_out;
    m.row_bytes = row_bytes_;
    m.x_stride = activation_row_bytes(kernel->input, c_.n_in);
    m.y_stride = m.residual_stride = 4 * c_.n_out;
    m.activation = c_.activation;
    m.rows = {ETCH_TOKENS, 1};
    m.next = &m;
    const int64_t scratch_bytes =
        kernel->scratch_bytes == nullptr ? 0 : (kernel->scratch_bytes(&m) + 63) / 64 * 64;
    std::vector<Guarded> scratch;
    std::vector<etch_matmul> args;
    for (int32_t t = 0; t < n_threads; ++t) {
      scratch.emplace_back(scratch_bytes);
      m.scratch = scratch.back().data();
      args.push_back(m);
    }
    for (int32_t t = 0; t < n_threads; ++t)
      share_out(*kernel, isa, &args[static_cast<size_t>(t)], &step, n_threads, piece, t);
    const auto* const f = y.as<float>();
    return std::vector<float>(f, f + c_.n_rows * c_.n_out);
  }

 private:
  // The threads' shares, one after the other (which of them works when changes nothing).
  static void share_out(const etch_kernel& kernel, etch_isa isa, const void* args,
                        const etch_step* step, int32_t n_threads, int64_t piece,
                        int32_t only = -1) {
    for (int32_t t = 0; t < n_threads; ++t) {
      if (only >= 0 && t != only) continue;
      etch_thread thread{step, nullptr, t, n_threads, 0};
      if (piece == 0) {
        etch_call(&kernel, isa, args, &thread);
        continue;
      }
      const int64_t items = kernel.items(args, &thread);
      for (int64_t first = t * piece; first < items; first += n_threads * piece)
        kernel.fn[isa](args, &thread, first, std::min(items, first + piece));
    }
  }

  MatmulCase c_;
  int64_t row_bytes_;
  Guarded weight_, gate_, x_, bias_, gate_bias_, residual_;
};

}  // namespace etch::test
