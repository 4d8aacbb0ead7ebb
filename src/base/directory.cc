#include "base/directory.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/file.h"

namespace etch {
namespace {

namespace fs = std::filesystem;

// Files and directories alike.
Status sync(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = fd >= 0 && fsync(fd) == 0;
  const int problem = errno;
  if (fd >= 0) close(fd);
  if (done) return {};
  return fail(ErrorKind::resources, "{}: cannot be written to the disk: {}", path,
              std::strerror(problem));
}

std::string parent_of(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace

Result<DirectoryWriter> DirectoryWriter::create(const std::string& path, bool replace) {
  std::string target = path;
  while (target.size() > 1 && target.back() == '/') target.pop_back();
  std::error_code ignored;
  if (!replace && fs::exists(fs::symlink_status(target, ignored)))
    return fail(ErrorKind::usage, "{}: is there already", target);
  std::string temporary = target + ".partial-XXXXXX";
  if (mkdtemp(temporary.data()) == nullptr) {
    return fail(ErrorKind::resources, "{}: no directory can be made there: {}", target,
                std::strerror(errno));
  }
  chmod(temporary.c_str(), 0755);
  return DirectoryWriter(std::move(target), std::move(temporary));
}

DirectoryWriter::DirectoryWriter(DirectoryWriter&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})) {}

DirectoryWriter::~DirectoryWriter() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

Status DirectoryWriter::write(std::string_view name, std::string_view bytes) {
  return write_file(temporary_ + "/" + std::string(name), bytes);
}

Status DirectoryWriter::commit() {
  for (const auto& entry : fs::directory_iterator(temporary_))
    ETCH_TRY(sync(entry.path().string()));
  ETCH_TRY(sync(temporary_));
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(path_, ignored))) {
    if (rename(temporary_.c_str(), path_.c_str()) == 0) {
      temporary_.clear();
      return sync(parent_of(path_));
    }
  } else if (renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) ==
             0) {
    // The two have changed places at once; what is left under the temporary name is the old one.
    ETCH_TRY(sync(parent_of(path_)));
    fs::remove_all(temporary_, ignored);
    temporary_.clear();
    return {};
  } else if (errno == EINVAL || errno == ENOSYS) {
    // A file system that cannot exchange: for a moment there is no directory.
    const std::string old = temporary_ + ".old";
    if (rename(path_.c_str(), old.c_str()) == 0) {
      if (rename(temporary_.c_str(), path_.c_str()) == 0) {
        temporary_.clear();
        fs::remove_all(old, ignored);
        return sync(parent_of(path_));
      }
      const int problem = errno;
      rename(old.c_str(), path_.c_str());
      errno = problem;
    }
  }
  return fail(ErrorKind::resources, "{}: the new directory cannot take its place: {}", path_,
              std::strerror(errno));
}

}  // namespace etch
