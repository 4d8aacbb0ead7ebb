#include "circuit/bind_parts.h"

namespace etch {
namespace {

constexpr size_t kMostListed = 20;

}  // namespace

void BindFindings::add(ErrorKind kind, std::string message) {
  for (const Line& l : lines)
    if (l.message == message) return;
  lines.push_back({kind, std::move(message)});
}

Status BindFindings::status() const {
  if (lines.empty()) return {};
  ErrorKind kind = ErrorKind::usage;
  for (const Line& l : lines)
    if (l.kind == ErrorKind::damaged ||
        (l.kind == ErrorKind::unsupported && kind == ErrorKind::usage))
      kind = l.kind;
  std::string all;
  for (size_t i = 0; i < lines.size() && i < kMostListed; ++i)
    all += (i == 0 ? "" : "\n") + lines[i].message;
  if (lines.size() > kMostListed) all += fmt::format("\nand {} more", lines.size() - kMostListed);
  return fail(kind, "{}", all);
}

}  // namespace etch
