// inspect(): what a file is, whether it fits here, what is odd about it. Costs time in proportion
// to the header.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"

namespace etch {

struct TypeShare {
  DType dtype = DType::f32;
  int64_t tensors = 0, elements = 0, bytes = 0;
};

struct MemoryReport {
  int64_t weights = 0;  // of all tensors, mapped from the file
  int64_t kv = 0;       // address space for keys, values and states; touched as it fills
  int64_t arena = 0;    // scratch
  int64_t total = 0;    // the three together
};

struct Inspection {
  std::string path, name;  // general.name
  int64_t file_bytes = 0;
  int n_parts = 1;
  uint32_t version = 3;
  std::string architecture;
  std::string circuit;  // "circuits/llama.circuit", "" if none fits
  int64_t n_layers = 0, d_model = 0, n_vocab = 0, trained_context = 0;
  int64_t parameters = 0;
  double bits_per_weight = 0;
  std::vector<TypeShare> types;  // largest share first
  std::string vocabulary;        // "gpt2, pre smollm", "" if there is none
  int64_t vocabulary_bytes = 0;  // of its tokens, scores, kinds and merges in the file
  bool has_chat_template = false;
  Limits limits;  // what memory was planned for
  int32_t n_threads = 0;
  std::optional<MemoryReport> memory;  // where it can run
  std::optional<Error> problem;        // why it cannot
  int64_t available = 0;               // memory of this machine, now
  std::vector<std::string> odd;
};

Result<Inspection> inspect(const std::string& path, const EngineOptions& options);

// Memory that may still be taken without swapping: MemAvailable, or what the cgroup leaves. 0:
// unknown.
int64_t available_memory();

}  // namespace etch
