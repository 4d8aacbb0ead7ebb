// GrammarVocabulary: the tokens of a vocabulary as a grammar sees them: the bytes that each writes.
// Control tokens, tokens that end a generation and those that the file forbids write nothing.
// Made once per model; shared by all its grammars.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/grammar/token_trie.h"
#include "text/tokenizer.h"

namespace etch {

// Tokens as bits: word i / 64, bit i % 64.
using TokenBits = std::vector<uint64_t>;
inline void set_bit(TokenBits& bits, int32_t id) {
  bits[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64);
}
inline bool has_bit(const TokenBits& bits, int32_t id) {
  return (bits[static_cast<size_t>(id) / 64] >> (id % 64)) & 1;
}

class GrammarVocabulary {
 public:
  // Of texts by id, "" where a token writes nothing.
  GrammarVocabulary(const std::vector<std::string>& texts, std::vector<int32_t> ends);
  GrammarVocabulary(const GrammarVocabulary&) = delete;

  int64_t size() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  size_t n_words() const { return (static_cast<size_t>(size()) + 63) / 64; }
  std::string_view text(int32_t id) const {
    const auto i = static_cast<size_t>(id);
    return std::string_view(arena_).substr(offsets_[i], offsets_[i + 1] - offsets_[i]);
  }
  const std::vector<int32_t>& ends() const { return ends_; }  // tokens that end a generation
  const std::bitset<256>& single_bytes() const { return single_bytes_; }  // that are a token alone
  const TokenTrie& all() const { return all_; }

  // Most tokens are whole characters that may stand in a JSON string as they are, and most grammars
  // treat those alike. plain(n) has the tokens of 1 to n such characters; `rest` those of
  // more, and all others.
  static constexpr int32_t kMaxPlain = 24;
  const TokenBits& plain(int32_t n) const { return plain_[static_cast<size_t>(n)]; }
  const TokenTrie& rest() const { return rest_; }
  static bool is_plain(uint32_t code) {
    return code >= 0x20 && code != '"' && code != '\\' && code != 0x7F;
  }

 private:
  std::string arena_;
  std::vector<size_t> offsets_;
  std::vector<int32_t> ends_;
  std::bitset<256> single_bytes_;
  TokenTrie all_, rest_;
  std::vector<TokenBits> plain_;  // [kMaxPlain + 1]
};

std::shared_ptr<const GrammarVocabulary> make_grammar_vocabulary(const Tokenizer& tokenizer);

}  // namespace etch
