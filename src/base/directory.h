// Directories written whole or not at all: into a temporary one beside the target, which takes its
// place at the end. Whoever looks sees the old directory, the new one, or none.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace etch {

class DirectoryWriter {
 public:
  // `replace`: a directory that is there already gives way at commit(); else it is an error.
  static Result<DirectoryWriter> create(const std::string& path, bool replace);
  DirectoryWriter(DirectoryWriter&&) noexcept;
  DirectoryWriter& operator=(DirectoryWriter&&) = delete;
  ~DirectoryWriter();  // without commit: nothing is left

  // Where the files stand until commit().
  const std::string& temporary() const { return temporary_; }
  Status write(std::string_view name, std::string_view bytes);
  Status commit();  // every file to the disk, then the rename

 private:
  DirectoryWriter(std::string path, std::string temporary)
      : path_(std::move(path)), temporary_(std::move(temporary)) {}

  std::string path_;
  std::string temporary_;  // "" once it has taken its place
};

}  // namespace etch
