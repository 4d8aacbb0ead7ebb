// The constants of a plan: one block of bytes, each entry 64-byte aligned, the same bytes once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "lowered/lowered.h"

namespace etch {

class Constants {
 public:
  explicit Constants(std::vector<uint8_t>& bytes) : bytes_(bytes) {}

  Place add(std::span<const uint8_t> data);
  template <class T>
  Place add_numbers(std::span<const T> numbers) {
    return add({reinterpret_cast<const uint8_t*>(numbers.data()), numbers.size_bytes()});
  }

 private:
  std::vector<uint8_t>& bytes_;
  std::unordered_multimap<size_t, Place> places_;  // by hash of the bytes
  std::unordered_map<int64_t, int64_t> lengths_;   // by offset
};

}  // namespace etch
