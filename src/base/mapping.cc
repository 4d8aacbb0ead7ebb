#include "base/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace etch {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

struct OpenFile {
  Descriptor descriptor;
  int64_t bytes;
};

// The size is read here, once; everything later goes by it.
Result<OpenFile> open_regular_file(const std::string& path) {
  // O_NONBLOCK: opening a pipe that nobody writes to must fail below, not hang here.
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0)
    return fail(ErrorKind::resources, "{}: cannot open it: {}", path, std::strerror(errno));
  struct stat status;
  if (::fstat(fd.get(), &status) != 0) {
    return fail(ErrorKind::resources, "{}: cannot read its size: {}", path, std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorKind::resources, "{}: {}, not a regular file; it cannot be mapped", path,
                S_ISDIR(status.st_mode) ? "a folder" : "a pipe or a device");
  }
  return OpenFile{std::move(fd), static_cast<int64_t>(status.st_size)};
}

tl::unexpected<Error> fail_to_map(const std::string& path, int64_t bytes) {
  return fail(ErrorKind::resources, "{}: cannot map {} bytes: {}", path, bytes,
              std::strerror(errno));
}

}  // namespace

Mapping::Mapping(Mapping&& other) noexcept { *this = std::move(other); }

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(size_, other.size_);
  std::swap(mode_, other.mode_);
  std::swap(owned_, other.owned_);
  std::swap(parts_, other.parts_);
  return *this;
}

Mapping::~Mapping() {
  if (owned_ && size_ > 0) ::munmap(base_, static_cast<size_t>(size_));
}

Result<Mapping> Mapping::open(const std::string& path, Mode mode) {
  return open_all({&path, 1}, mode);
}

// First a range of addresses without memory behind it, large enough for all; then each file over
// its place in it.
//
//   | part 0 ........ 0 0 | part 1 ..... 0 | part 2 ............ 0 0 |
//   ^ page                ^ page           ^ page                    ^ end of the range
//
// The rest of a file's last page reads as zeros.
Result<Mapping> Mapping::open_all(std::span<const std::string> paths, Mode mode) {
  const int64_t page = ::sysconf(_SC_PAGESIZE);
  Mapping m;
  m.mode_ = mode;
  std::vector<OpenFile> files;
  for (const std::string& path : paths) {
    files.push_back(ETCH_TRY(open_regular_file(path)));
    const int64_t bytes = files.back().bytes;
    m.parts_.push_back({path, m.size_, bytes});
    if (bytes > INT64_MAX - page ||
        __builtin_add_overflow(m.size_, (bytes + page - 1) / page * page, &m.size_)) {
      return fail(ErrorKind::resources, "{}: {} bytes are more than can be mapped", path, bytes);
    }
  }
  if (m.size_ == 0) return m;

  void* range = ::mmap(nullptr, static_cast<size_t>(m.size_), PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return fail_to_map(paths[0], std::exchange(m.size_, 0));
  m.base_ = static_cast<uint8_t*>(range);
  m.owned_ = true;
  const int protection = mode == Mode::private_copy ? PROT_READ | PROT_WRITE : PROT_READ;
  const int flags = mode == Mode::private_copy ? MAP_PRIVATE | MAP_NORESERVE : MAP_SHARED;
  for (size_t i = 0; i < files.size(); ++i) {
    const Part& part = m.parts_[i];
    if (part.bytes == 0) continue;
    void* at = ::mmap(m.base_ + part.offset, static_cast<size_t>(part.bytes), protection,
                      flags | MAP_FIXED, files[i].descriptor.get(), 0);
    if (at == MAP_FAILED) return fail_to_map(part.path, part.bytes);
  }
  return m;
}

Mapping Mapping::of_memory(std::span<const uint8_t> bytes, std::string name) {
  Mapping m;
  m.base_ = const_cast<uint8_t*>(bytes.data());  // read_only: nothing writes through it
  m.size_ = static_cast<int64_t>(bytes.size());
  m.parts_.push_back({std::move(name), 0, m.size_});
  return m;
}

Result<Mapping> Mapping::private_copy() const {
  if (owned_) {
    std::vector<std::string> paths;
    for (const Part& part : parts_) paths.push_back(part.path);
    Mapping copy = ETCH_TRY(open_all(paths, Mode::private_copy));
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (copy.parts_[i].bytes != parts_[i].bytes) {
        return fail(ErrorKind::resources, "{}: it changed while it was being read", parts_[i].path);
      }
    }
    return copy;
  }
  Mapping copy;
  copy.mode_ = Mode::private_copy;
  copy.parts_ = parts_;
  if (size_ == 0) return copy;
  void* range = ::mmap(nullptr, static_cast<size_t>(size_), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (range == MAP_FAILED) return fail_to_map(parts_[0].path, size_);
  copy.base_ = static_cast<uint8_t*>(range);
  copy.size_ = size_;
  copy.owned_ = true;
  std::memcpy(copy.base_, base_, static_cast<size_t>(size_));
  return copy;
}

}  // namespace etch
