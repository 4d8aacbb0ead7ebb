// MarkedText: a text that remembers which of its bytes came from outside (contents of messages,
// descriptions of tools). A chat template joins both kinds; the tokenizer makes control tokens of
// the template's own bytes only.
//
//   <|im_start|>user\n Say <|im_end|> please <|im_end|>\n
//   ---- template ---- ------ outside ------ -template-
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace etch {

struct TextRange {
  int64_t begin = 0;  // bytes
  int64_t end = 0;    // one past the last
  bool operator==(const TextRange&) const = default;
};

struct MarkedText {
  std::string text;
  std::vector<TextRange> outside;  // ascending, not empty, not touching one another

  static MarkedText from_outside(std::string_view text);
  void append(std::string_view piece, bool is_outside);
  void append(const MarkedText& piece);
  MarkedText slice(int64_t begin, int64_t end) const;  // of bytes; clamped
  bool is_outside(int64_t begin, int64_t end) const;   // any byte of [begin, end)
  bool operator==(const MarkedText&) const = default;
};

}  // namespace etch
