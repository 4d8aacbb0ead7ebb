#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace etch {
namespace {

constexpr size_t kBufferBytes = 1 << 20;  // large enough that system calls do not count

tl::unexpected<Error> fail_with_errno(const std::string& path, std::string_view what) {
  return fail(ErrorKind::resources, "{}: cannot {}: {}", path, what, std::strerror(errno));
}

// A new file beside the target, with the permissions the target has or would get.
int open_temporary(const std::string& path, mode_t mode, std::string& temporary) {
  for (int i = 0; i < 100; ++i) {
    temporary = fmt::format("{}.partial-{}-{}", path, ::getpid(), i);
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

}  // namespace

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, "")),
      fd_(std::exchange(other.fd_, -1)),
      buffer_(std::move(other.buffer_)) {}

FileWriter::~FileWriter() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<FileWriter> FileWriter::create(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path target = std::filesystem::canonical(path, ignored);
  FileWriter writer(target.empty() ? path : target.string());
  struct stat status;
  const bool exists = ::stat(writer.path_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    return fail(ErrorKind::resources, "{}: a folder, not a file", path);
  if (exists && !S_ISREG(status.st_mode)) {
    writer.fd_ = ::open(writer.path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    writer.fd_ =
        open_temporary(writer.path_, exists ? status.st_mode & 0777 : 0666, writer.temporary_);
    if (writer.fd_ < 0) writer.temporary_.clear();
  }
  if (writer.fd_ < 0) return fail_with_errno(path, "create it");
  return writer;
}

Status FileWriter::flush() {
  for (size_t done = 0; done < buffer_.size();) {
    const ssize_t n = ::write(fd_, buffer_.data() + done, buffer_.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_with_errno(path_, "write");
    done += static_cast<size_t>(n);
  }
  buffer_.clear();
  return {};
}

Status FileWriter::write(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const size_t n = std::min(bytes.size(), kBufferBytes - buffer_.size());
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
    bytes = bytes.subspan(n);
    if (buffer_.size() == kBufferBytes) ETCH_TRY(flush());
  }
  return {};
}

Status FileWriter::write(std::string_view text) {
  return write({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

Status FileWriter::commit() {
  ETCH_TRY(flush());
  // A crash soon after must not leave an empty file under the target's name.
  if (!temporary_.empty() && ::fsync(fd_) != 0) return fail_with_errno(path_, "write to the disk");
  if (::close(std::exchange(fd_, -1)) != 0) return fail_with_errno(path_, "write");
  if (temporary_.empty()) return {};
  if (::rename(temporary_.c_str(), path_.c_str()) != 0)
    return fail_with_errno(path_, "put it in place");
  temporary_.clear();
  return {};
}

Status replace_file(const std::string& temporary, const std::string& path) {
  const int fd = ::open(temporary.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail_with_errno(temporary, "open it");
  const bool is_written = ::fsync(fd) == 0;
  const int error = errno;
  ::close(fd);
  errno = error;
  if (!is_written) return fail_with_errno(temporary, "write to the disk");
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    return fail_with_errno(path, "put it in place");
  return {};
}

Status write_file(const std::string& path, std::string_view text) {
  FileWriter writer = ETCH_TRY(FileWriter::create(path));
  ETCH_TRY(writer.write(text));
  return writer.commit();
}

Result<std::string> read_file(const std::string& path, int64_t max_bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail_with_errno(path, "open it");
  std::string text;
  ssize_t n = 0;
  do {
    const size_t had = text.size();
    text.resize(had + kBufferBytes / 16);
    n = ::read(fd, text.data() + had, text.size() - had);
    text.resize(had + static_cast<size_t>(std::max<ssize_t>(n, 0)));
  } while (static_cast<int64_t>(text.size()) <= max_bytes && (n > 0 || (n < 0 && errno == EINTR)));
  const int error = errno;
  ::close(fd);
  errno = error;
  if (n < 0) return fail_with_errno(path, "read it");
  if (static_cast<int64_t>(text.size()) > max_bytes) {
    return fail(ErrorKind::resources, "{}: longer than the {} bytes that are read of such a file",
                path, max_bytes);
  }
  return text;
}

}  // namespace etch
