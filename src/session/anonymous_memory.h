// One anonymous mapping: memory whose size is known to the byte and whose pages cost nothing until
// they are touched.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace etch {

class AnonymousMemory {
 public:
  AnonymousMemory() = default;
  AnonymousMemory(AnonymousMemory&& other) noexcept;
  AnonymousMemory& operator=(AnonymousMemory&& other) noexcept;
  ~AnonymousMemory();

  // `what` names the memory in the message of a failure. 0 bytes map nothing.
  static Result<AnonymousMemory> map(int64_t bytes, std::string_view what);

  uint8_t* data() const { return base_; }
  int64_t bytes() const { return bytes_; }

 private:
  uint8_t* base_ = nullptr;
  int64_t bytes_ = 0;
};

// Sizes of mappings and of what stands in them are multiples of these.
constexpr int64_t kMapGranule = 4096;
constexpr int64_t kAlignment = 64;
constexpr int64_t round_up(int64_t n, int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

}  // namespace etch
