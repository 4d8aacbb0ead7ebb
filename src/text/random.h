// CountedRandom: a counter turned into random bits (SplitMix64). The n-th number of a seed can be had
// without the ones before, so a generation is resumed, forked or rolled back by its count alone;
// the same on every machine.
#pragma once

#include <cstdint>

namespace etch {

// The number `index` (from 0) of SplitMix64 started at `seed`. Steele, Lea, Flood: Fast splittable
// pseudorandom number generators, OOPSLA 2014; mixing constants of Stafford's variant 13.
inline uint64_t splitmix64(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

class CountedRandom {
 public:
  explicit CountedRandom(uint64_t seed = 0, uint64_t stream = 0) : seed_(splitmix64(seed, ~stream)) {}

  uint64_t next_bits() { return splitmix64(seed_, count_++); }
  double next_unit() {  // [0, 1): 53 bits
    return static_cast<double>(next_bits() >> 11) * 0x1p-53;
  }
  uint64_t count() const { return count_; }
  void set_count(uint64_t count) { count_ = count; }

 private:
  uint64_t seed_;
  uint64_t count_ = 0;
};

}  // namespace etch
