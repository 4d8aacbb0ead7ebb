// Random numbers that are the same on every machine: a seed gives one sequence, for tests and
// made-up models.
#pragma once

#include <cstdint>

namespace etch {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  // splitmix64 (Steele, Lea, Flood 2014): passes BigCrush, needs no warm-up, any seed is good.
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  int64_t below(int64_t n) {
    return static_cast<int64_t>(next() % static_cast<uint64_t>(n));
  }                                                                         // 0 .. n - 1
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // [0, 1)
  float between(float lo, float hi) { return lo + (hi - lo) * static_cast<float>(uniform()); }
  // About a standard normal: twelve uniform numbers have variance 1. Needs no libm, so machines
  // agree.
  float normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return static_cast<float>(sum);
  }

 private:
  uint64_t state_;
};

}  // namespace etch
