// Vocabulary: the token table of a model file with the rules every kind shares: kinds, scores,
// special ids by key and by text, the set of tokens that end a generation. Plain data, made by
// read_vocabulary.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/model.h"

namespace etch {

enum class TokenKind : uint8_t { undefined, normal, unknown, control, user_defined, unused, byte };
std::string_view name(TokenKind kind);

struct SpecialIds {  // -1: the vocabulary has none
  int32_t bos = -1, eos = -1, eot = -1, eom = -1, unknown = -1, separator = -1, padding = -1,
          mask = -1;
  int32_t fim_prefix = -1, fim_suffix = -1, fim_middle = -1, fim_pad = -1, fim_repo = -1,
          fim_separator = -1;
};

class Vocabulary {
 public:
  // Bits of `attributes`.
  enum : uint8_t {
    strips_left = 1,   // eats white space before it
    strips_right = 2,  // eats white space after it
    is_end = 4,        // ends a generation
    structural = 8,    // printed, but never made from the contents of messages
  };

  std::string model;  // value of tokenizer.ggml.model: "llama", "gpt2", ...
  std::string pre;    // value of tokenizer.ggml.pre, "" if absent

  SpecialIds special;
  bool add_bos = false, add_eos = false, add_sep = false;
  bool add_space_prefix = false;
  bool clean_spaces = false;
  bool escape_whitespaces = false;  // spaces are written U+2581
  bool byte_level = false;          // texts are spelt in the 256 stand-ins of byte-level BPE
  std::vector<int32_t> suppressed;  // never to be generated
  std::vector<std::string> warnings;

  int64_t size() const { return static_cast<int64_t>(kinds.size()); }
  std::string_view text(int32_t id) const {
    if (id < 0 || id >= size()) return {};
    return std::string_view(arena).substr(offsets[id], offsets[id + 1] - offsets[id]);
  }
  TokenKind kind(int32_t id) const {
    return id < 0 || id >= size() ? TokenKind::undefined : kinds[id];
  }
  bool is_end_of_generation(int32_t id) const {
    return id >= 0 && id < size() && (attributes[id] & is_end);
  }
  bool is_special(int32_t id) const;  // control or unknown: printed as nothing unless asked for
  int32_t find(std::string_view text) const;  // -1 if no token has this text; of several the last
  void index_texts();                         // makes `slots`

  // One arena for all texts: token i is bytes offsets[i] to offsets[i + 1].
  std::string arena;
  std::vector<uint32_t> offsets;  // n + 1
  std::vector<TokenKind> kinds;
  std::vector<uint8_t> attributes;
  std::vector<float> scores;  // empty if the file has none: all 0
  // Open addressing over the texts, a power of two entries: [ upper half of the hash : 32 | id + 1
  // : 32 ], 0 = free.
  std::vector<uint64_t> slots;
};

Result<std::unique_ptr<Vocabulary>> read_vocabulary(const Model& model);

}  // namespace etch
