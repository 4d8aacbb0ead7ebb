#include "gguf/warnings.h"

#include <fmt/core.h>

#include "base/number_text.h"

namespace etch {

void Warnings::add(std::string_view kind, std::string_view example) {
  for (Entry& e : entries_) {
    if (e.kind == kind) {
      ++e.count;
      return;
    }
  }
  entries_.push_back({std::string(kind), std::string(example), 1});
}

std::vector<std::string> Warnings::lines() const {
  std::vector<std::string> lines;
  for (const Entry& e : entries_) {
    lines.push_back(e.count == 1 ? fmt::format("{}: {}", e.kind, e.first)
                                 : fmt::format("{}: {} and {} more", e.kind, e.first,
                                               with_commas(e.count - 1)));
  }
  return lines;
}

}  // namespace etch
