// Sizes that grow with the step: arithmetic on fixed + per_row * N + per_output * R.
#pragma once

#include <algorithm>
#include <cstdint>

namespace etch {

struct Affine {
  int64_t fixed = 0, per_row = 0, per_output = 0;

  int64_t at(int64_t n_rows, int64_t n_outputs) const {
    return fixed + per_row * n_rows + per_output * n_outputs;
  }
  bool operator==(const Affine&) const = default;
  Affine operator+(const Affine& other) const {
    return {fixed + other.fixed, per_row + other.per_row, per_output + other.per_output};
  }
  Affine operator*(int64_t factor) const {
    return {fixed * factor, per_row * factor, per_output * factor};
  }
};

constexpr int64_t kBufferAlignment = 64;  // a cache line, and the widest vector

constexpr int64_t align_up(int64_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

}  // namespace etch
