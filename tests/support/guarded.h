// Memory whose end is followed by a page nobody may touch, so that one byte too far is a crash.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace etch::test {

class Guarded {
 public:
  // n bytes, zeros, ending right before the forbidden page.
  explicit Guarded(int64_t n) : bytes_(n) {
    const int64_t page = sysconf(_SC_PAGESIZE);
    inside_ = (n + page - 1) / page * page;
    void* const p = mmap(nullptr, static_cast<size_t>(inside_ + page), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED ||
        mprotect(static_cast<uint8_t*>(p) + inside_, static_cast<size_t>(page), PROT_NONE) != 0)
      std::abort();
    mapping_ = static_cast<uint8_t*>(p);
    mapped_ = inside_ + page;
  }
  Guarded(Guarded&& other) noexcept { *this = std::move(other); }
  Guarded& operator=(Guarded&& other) noexcept {
    std::swap(mapping_, other.mapping_);
    std::swap(mapped_, other.mapped_);
    std::swap(inside_, other.inside_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Guarded() {
    if (mapping_ != nullptr) munmap(mapping_, static_cast<size_t>(mapped_));
  }

  uint8_t* data() const { return mapping_ + inside_ - bytes_; }
  int64_t size() const { return bytes_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data());
  }
  // From now on only reading is allowed.
  void protect() { mprotect(mapping_, static_cast<size_t>(inside_), PROT_READ); }

 private:
  uint8_t* mapping_ = nullptr;
  int64_t mapped_ = 0, inside_ = 0, bytes_ = 0;
};

}  // namespace etch::test
