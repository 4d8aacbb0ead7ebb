#include <iterator>

#include "text/tokenizers/algorithm.h"

namespace etch {

Result<std::unique_ptr<TokenizerAlgorithm>> make_spm(const Model& model,
                                                     const Vocabulary& vocabulary);
Result<std::unique_ptr<TokenizerAlgorithm>> make_bpe(const Model& model,
                                                     const Vocabulary& vocabulary);
Result<std::unique_ptr<TokenizerAlgorithm>> make_none(const Model& model,
                                                      const Vocabulary& vocabulary);

namespace {

constexpr TokenizerKind kind_row(
    std::string_view model,
    Result<std::unique_ptr<TokenizerAlgorithm>> (*make)(const Model&, const Vocabulary&),
    int32_t bos, int32_t eos, int32_t unknown, int32_t separator, int32_t padding, int32_t mask,
    bool add_space_prefix, bool clean_spaces, bool add_bos, bool add_eos, bool add_sep,
    bool uses_pre) {
  SpecialIds special;
  special.bos = bos, special.eos = eos, special.unknown = unknown;
  special.separator = separator, special.padding = padding, special.mask = mask;
  return {model,   make,    special, add_space_prefix, clean_spaces,
          add_bos, add_eos, add_sep, uses_pre};
}

constexpr TokenizerKind kKinds[] = {
#define ETCH_TOKENIZER(...) kind_row(__VA_ARGS__),
#include "text/tokenizers/tokenizers.def"
#undef ETCH_TOKENIZER
};

}  // namespace

const TokenizerKind* find_tokenizer_kind(std::string_view model) {
  if (model == "no_vocab") model = "none";
  for (const TokenizerKind& kind : kKinds) {
    if (kind.model == model) return &kind;
  }
  return nullptr;
}

std::string known_tokenizer_kinds() {
  std::string names;
  for (const TokenizerKind& kind : kKinds)
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", kind.model);
  return names;
}

}  // namespace etch
