// Tokenizer: text to token ids and back, from the metadata of a model file alone.
//
//   text -> special partition -> raw fragments -> the kind's algorithm (tokenizers/) -> ids ->
//   bytes -> valid UTF-8
//
// A Tokenizer is immutable after make_tokenizer and may be used from several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/model.h"
#include "text/marked_text.h"
#include "text/vocabulary.h"

namespace etch {

class TokenizerAlgorithm;  // tokenizers/algorithm.h
class SpecialMatcher;      // special_tokens.h

struct EncodeOptions {
  bool add_special = true;    // may BOS and EOS be added, as the vocabulary says
  bool parse_special = true;  // are texts of control tokens made control tokens
};

struct DecodeOptions {
  bool special = false;         // print control and unknown tokens (else they give nothing)
  bool remove_special = false;  // drop a leading BOS and a trailing EOS that the vocabulary adds
  bool clean_spaces =
      false;  // the lossy old clean-up of spaces before punctuation, if the vocabulary asks for it
};

class Tokenizer {
 public:
  ~Tokenizer();

  // Fails only for vocabularies without text (kind none), texts past 2 GiB, and bytes the
  // vocabulary cannot write.
  Result<std::vector<int32_t>> encode(std::string_view text,
                                      const EncodeOptions& options = {}) const;
  // With parse_special, control tokens come out of the bytes that are not `outside`; user-defined
  // ones out of any.
  Result<std::vector<int32_t>> encode(const MarkedText& text,
                                      const EncodeOptions& options = {}) const;
  // As encode, but a BOS text at the front and an EOS text at the end of a rendered chat are not
  // doubled.
  Result<std::vector<int32_t>> encode_chat(const MarkedText& text) const;

  std::string decode(std::span<const int32_t> ids,
                     const DecodeOptions& options = {}) const;  // valid UTF-8
  std::string decode_bytes(std::span<const int32_t> ids,
                           const DecodeOptions& options = {}) const;  // as it is
  // What one token adds to a text; ids outside the vocabulary give nothing.
  std::string token_bytes(int32_t id, bool special = false) const;

  int64_t n_vocab() const { return vocabulary_->size(); }
  const Vocabulary& vocabulary() const { return *vocabulary_; }
  const SpecialIds& special() const { return vocabulary_->special; }
  bool is_end_of_generation(int32_t id) const { return vocabulary_->is_end_of_generation(id); }
  std::string_view token_text(int32_t id) const {
    return vocabulary_->text(id);
  }  // as stored in the file
  TokenKind token_kind(int32_t id) const { return vocabulary_->kind(id); }
  const std::vector<std::string>& warnings() const { return vocabulary_->warnings; }

 private:
  friend Result<std::unique_ptr<Tokenizer>> make_tokenizer(const Model& model);
  Tokenizer();
  Result<std::vector<int32_t>> encode_marked(std::string_view text,
                                             const std::vector<TextRange>& outside,
                                             const EncodeOptions& options) const;
  std::unique_ptr<Vocabulary> vocabulary_;
  std::unique_ptr<TokenizerAlgorithm> algorithm_;
  std::unique_ptr<SpecialMatcher> matcher_;
};

// ErrorKind::damaged where the metadata contradict themselves, unsupported for a vocabulary kind
// etch does not know and for a file without a vocabulary.
Result<std::unique_ptr<Tokenizer>> make_tokenizer(const Model& model);

// Tokens of a running generation to text, piece by piece. Only ever gives valid UTF-8: the start of
// a character waits for its end, bytes that can never be part of one become U+FFFD.
class TextStream {
 public:
  explicit TextStream(const Tokenizer& tokenizer, bool special = false);
  std::string push(int32_t id);  // what can be shown now, often one token, sometimes nothing
  std::string finish();          // what was still held back

 private:
  const Tokenizer* tokenizer_;
  bool special_;
  std::string held_;
};

}  // namespace etch
