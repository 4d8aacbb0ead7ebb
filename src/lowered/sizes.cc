#include "lowered/sizes.h"

#include <algorithm>

namespace etch {

int64_t bytes_at(const Lowered& lowered, Space space, bool prefill, int64_t n_rows,
                 int64_t n_outputs) {
  int64_t end = 0;
  for (const Buffer& b : lowered.buffers) {
    if (b.space != space || (is_per_list(space) && b.prefill != prefill)) continue;
    end = std::max(end, b.offset + std::min(b.bytes, b.size.at(n_rows, n_outputs)));
  }
  return end;
}

}  // namespace etch
