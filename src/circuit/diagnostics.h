// What is wrong with a circuit's text, as people read it:
//
//   circuits/qwen3.circuit:46:9: error: no operation 'rms_norm'; did you mean 'rmsnorm'?
//       h = rms_norm(x, attn_norm, eps)
//           ^
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "circuit/ast.h"

namespace etch {

enum class Severity : uint8_t { note, warning, error };

struct Diagnostic {
  Severity severity = Severity::error;
  Location at;
  std::string message;
};

class Diagnostics {
 public:
  Diagnostics(std::string file, std::string_view text) : file_(std::move(file)), text_(text) {}

  void add(Severity severity, const Location& at, std::string message);
  void error(const Location& at, std::string message) {
    add(Severity::error, at, std::move(message));
  }

  bool has_errors() const;
  int count(Severity severity) const;
  const std::vector<Diagnostic>& all() const { return items_; }

  // In the order of the text, each with its line and a caret; no trailing newline.
  std::string print(Severity least = Severity::note) const;
  // An error whose message is print(error), or nothing.
  Status status(ErrorKind kind = ErrorKind::usage) const;

 private:
  std::string file_;
  std::string_view text_;  // of the circuit; must outlive this
  std::vector<Diagnostic> items_;
};

// The one of `known` that `word` was probably meant to be, or "": at most a third of its letters
// differ.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);
// "; did you mean 'rmsnorm'?" or "".
std::string suggestion(std::string_view word, std::span<const std::string_view> known);

}  // namespace etch
