// etch bench matmul: one quantised matrix times a batch of vectors, as a graph of one node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "session/session.h"

namespace etch::cli {

struct MatmulFlags {
  std::string type = "Q8_0";
  int64_t rows = 1024, cols = 1024;
  std::vector<int64_t> batches = {1024, 1};
};
Result<int> bench_matmul(const MatmulFlags& flags, int64_t repetitions,
                         const SessionOptions& session, bool json);

}  // namespace etch::cli
