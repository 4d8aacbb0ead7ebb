// Read-only mappings of files. A split set of files is mapped into one contiguous range of
// addresses, so that every byte of every part has one offset ("the file" of the lowered form),
// whatever the number of parts.
//
// The sizes are read once, when the files are opened. A file that somebody shortens while it is
// mapped loses the pages beyond its new end: touching one of them is SIGBUS, which ends the
// process, as with every program that maps files. Writers that replace a file by renaming (as etch
// does) are harmless: the mapping keeps the old file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace etch {

class Mapping {
 public:
  struct Part {
    std::string path;
    int64_t offset = 0;  // of its first byte in the range, a multiple of the page size
    int64_t bytes = 0;   // size of the file when it was opened
  };
  enum class Mode {
    read_only,
    private_copy
  };  // private_copy: writable, copy on write, never reaches the file

  Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  Mapping(Mapping&&) noexcept;
  Mapping& operator=(Mapping&&) noexcept;
  ~Mapping();

  static Result<Mapping> open(const std::string& path, Mode mode = Mode::read_only);
  static Result<Mapping> open_all(std::span<const std::string> paths, Mode mode = Mode::read_only);
  // Bytes in memory seen as a mapping of one part (tests, fuzzers). The bytes must outlive it.
  static Mapping of_memory(std::span<const uint8_t> bytes, std::string name = "memory");
  // The same parts at the same offsets, writable: files are mapped again, memory is copied.
  Result<Mapping> private_copy() const;

  std::span<const uint8_t> bytes() const { return {base_, static_cast<size_t>(size_)}; }
  uint8_t* writable() { return mode_ == Mode::private_copy ? base_ : nullptr; }
  const std::vector<Part>& parts() const { return parts_; }
  std::span<const uint8_t> part_bytes(int part) const {
    return bytes().subspan(static_cast<size_t>(parts_[part].offset),
                           static_cast<size_t>(parts_[part].bytes));
  }

 private:
  uint8_t* base_ = nullptr;
  int64_t size_ = 0;  // of the whole range
  Mode mode_ = Mode::read_only;
  bool owned_ = false;  // munmap at the end
  std::vector<Part> parts_;
};

}  // namespace etch
