// Times ggml's product of a Q8_0 matrix [1024, 1024] with a batch of float32 rows. For bench/matmul_vs_peers; built there
// against the peer's own headers and libraries, never part of etch.
//   ggml_matmul THREADS BATCH  ->  milliseconds of one product, median of many, on stdout
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "ggml-cpu.h"
#include "ggml.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int threads = std::atoi(argv[1]), batch = std::atoi(argv[2]), size = 1024;
  ggml_init_params params = {size_t{256} << 20, nullptr, false};
  ggml_context* context = ggml_init(params);
  ggml_tensor* weight = ggml_new_tensor_2d(context, GGML_TYPE_Q8_0, size, size);
  ggml_tensor* x = ggml_new_tensor_2d(context, GGML_TYPE_F32, size, batch);
  std::vector<float> numbers(static_cast<size_t>(size) * std::max(size, batch));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>((i * 2654435761u) % 2001) / 1000.0f - 1.0f;
  ggml_quantize_chunk(GGML_TYPE_Q8_0, numbers.data(), weight->data, 0, size, size, nullptr);
  std::copy_n(numbers.begin(), static_cast<size_t>(size) * batch, static_cast<float*>(x->data));

  ggml_cgraph* graph = ggml_new_graph(context);
  ggml_build_forward_expand(graph, ggml_mul_mat(context, weight, x));
  ggml_cplan plan = ggml_graph_plan(graph, threads, nullptr);
  std::vector<uint8_t> work(plan.work_size + 1);
  plan.work_data = work.data();
  // A thread pool that polls: what llama.cpp itself uses between the nodes of one graph.
  ggml_threadpool_params pool_params = ggml_threadpool_params_default(threads);
  plan.threadpool = ggml_threadpool_new(&pool_params);

  std::vector<double> seconds;
  const int runs = batch > 1 ? 60 : 3000;
  for (int i = 0; i < runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    ggml_graph_compute(graph, &plan);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + runs / 2, seconds.end());
  std::printf("%.6f\n", seconds[runs / 2] * 1e3);
  ggml_threadpool_free(plan.threadpool);
  ggml_free(context);
  return 0;
}
