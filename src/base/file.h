// Files written whole or not at all: to a temporary file beside the target, which is renamed over
// it at the end. Whoever reads the target sees the old content or the new one, and a mapping of the
// old file stays good.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace etch {

class FileWriter {
 public:
  // A target that is no regular file (a pipe, /dev/null) is written to directly.
  static Result<FileWriter> create(const std::string& path);
  FileWriter(FileWriter&&) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();  // without commit: the temporary file is removed, the target untouched

  Status write(std::span<const uint8_t> bytes);
  Status write(std::string_view text);
  Status commit();  // everything to the disk, then the rename; nothing may be written afterwards

 private:
  explicit FileWriter(std::string path) : path_(std::move(path)) {}
  Status flush();

  std::string path_;       // the target, links followed
  std::string temporary_;  // "" where there is none
  int fd_ = -1;
  std::vector<uint8_t> buffer_;
};

// Puts a file that is written already in another's place, once it is on the disk.
Status replace_file(const std::string& temporary, const std::string& path);

Status write_file(const std::string& path, std::string_view text);

// The whole of a file of up to max_bytes.
Result<std::string> read_file(const std::string& path, int64_t max_bytes);

}  // namespace etch
