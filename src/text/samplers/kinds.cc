#include "text/samplers/step.h"

namespace etch {

#define ETCH_SAMPLER(name, other, make, only_truncates) \
  std::unique_ptr<SamplerStep> make(const SamplingOptions& options);
#include "text/samplers/samplers.def"
#undef ETCH_SAMPLER

namespace {

struct Row {
  SamplerKind kind;
  std::string_view other_name;
};

constexpr Row kRows[] = {
#define ETCH_SAMPLER(name, other, make, only_truncates) {{name, make, only_truncates}, other},
#include "text/samplers/samplers.def"
#undef ETCH_SAMPLER
};

std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '_' || c == '-') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

}  // namespace

const SamplerKind* find_sampler_kind(std::string_view name) {
  const std::string wanted = plain(name);
  if (wanted.empty()) return nullptr;
  for (const Row& row : kRows) {
    if (plain(row.kind.name) == wanted || plain(row.other_name) == wanted) return &row.kind;
  }
  return nullptr;
}

std::string known_sampler_kinds() {
  std::string names;
  for (const Row& row : kRows) {
    names += names.empty() ? "" : ", ";
    names += row.kind.name;
  }
  return names;
}

}  // namespace etch
