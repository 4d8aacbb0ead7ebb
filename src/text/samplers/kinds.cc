#include "text/samplers/step.h"

namespace etch {

#define ETCH_SAMPLER(name, other, letter, make, only_truncates, needs_texts, stands_last) \
  std::unique_ptr<SamplerStep> make(const SamplingOptions& options, const Tokenizer* tokenizer);
#include "text/samplers/samplers.def"
#undef ETCH_SAMPLER

namespace {

struct Row {
  SamplerKind kind;
  std::string_view other_name;
  char letter;
};

constexpr Row kRows[] = {
#define ETCH_SAMPLER(name, other, letter, make, only_truncates, needs_texts, stands_last) \
  {{name, make, only_truncates, needs_texts, stands_last}, other, letter},
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

std::vector<std::string> sampler_names_of_letters(std::string_view letters) {
  std::vector<std::string> names;
  for (const char c : letters) {
    for (const Row& row : kRows) {
      if (row.letter == c) names.emplace_back(row.kind.name);
    }
  }
  if (names.size() != letters.size()) names.clear();
  return names;
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
