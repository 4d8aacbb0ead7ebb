// Counts every operator new of the test program. Include it in one file of a program.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace etch {
inline std::atomic<int64_t> n_allocations = 0;
}

__attribute__((noinline)) void* operator new(size_t n) {
  ++etch::n_allocations;
  if (void* p = std::malloc(n)) return p;
  throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void* p) noexcept { std::free(p); }
__attribute__((noinline)) void operator delete(void* p, size_t) noexcept { std::free(p); }
