// Library: a printed and compiled model, loaded. A session runs it in place of the executor; it
// makes the same calls on the same memory, so it gives the same bits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "session/arena.h"
#include "session/program.h"

namespace etch {

class Library {
 public:
  static Result<std::shared_ptr<const Library>> open(const std::string& path);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const etch_model& model() const { return *model_; }
  // The limits it was compiled for: a plan for it is made with them.
  Limits limits() const;
  // Refuses a plan other than the one it was printed from.
  Status check(const Lowered& lowered) const;
  const std::string& path() const { return path_; }

 private:
  Library(std::string path, void* handle) : path_(std::move(path)), handle_(handle) {}

  std::string path_;
  void* handle_;
  const etch_model* model_ = nullptr;
};

// The program that runs a library's calls. All must outlive it.
std::unique_ptr<Program> make_program(const Library& library, const Arena& arena,
                                      const uint8_t* file, etch_team* team, etch_isa isa);

}  // namespace etch
