#include "session/anonymous_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace etch {

AnonymousMemory::AnonymousMemory(AnonymousMemory&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

AnonymousMemory& AnonymousMemory::operator=(AnonymousMemory&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

AnonymousMemory::~AnonymousMemory() {
  if (base_) munmap(base_, static_cast<size_t>(bytes_));
}

Result<AnonymousMemory> AnonymousMemory::map(int64_t bytes, std::string_view what) {
  AnonymousMemory memory;
  if (bytes == 0) return memory;
  void* p = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    return fail(ErrorKind::resources,
                "cannot map {} bytes for {}: {}\n  a smaller --ctx or --ubatch needs less", bytes,
                what, std::strerror(errno));
  }
  memory.base_ = static_cast<uint8_t*>(p);
  memory.bytes_ = bytes;
  return memory;
}

}  // namespace etch
