// TokenizerAlgorithm: how one kind of vocabulary cuts a raw fragment into ids, and what a token's
// text means. The kinds and their defaults stand in tokenizers.def; everything else about a
// vocabulary is shared.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/model.h"
#include "text/vocabulary.h"

namespace etch {

class TokenizerAlgorithm {
 public:
  virtual ~TokenizerAlgorithm() = default;
  // Appends the ids of a fragment without special tokens. The fragment may hold any bytes.
  virtual Status encode(std::string_view fragment, std::vector<int32_t>& ids) const = 0;
};

struct TokenizerKind {
  std::string_view model;  // value of tokenizer.ggml.model
  Result<std::unique_ptr<TokenizerAlgorithm>> (*make)(const Model& model,
                                                      const Vocabulary& vocabulary);
  SpecialIds special;  // where the file names none
  bool add_space_prefix, clean_spaces, add_bos, add_eos, add_sep;
  bool uses_pre;  // flags and split patterns come from tokenizer.ggml.pre
};

// Null for a kind etch does not know; known_tokenizer_kinds lists those it does.
const TokenizerKind* find_tokenizer_kind(std::string_view model);
std::string known_tokenizer_kinds();

}  // namespace etch
