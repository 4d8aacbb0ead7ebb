// Special tokens: which ones a vocabulary has, by their texts, and where they stand in a text.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/marked_text.h"
#include "text/vocabulary.h"

namespace etch {

// Finds ids the file does not name by their texts, makes the set of tokens that end a generation,
// repairs the kinds of families whose files are known to be odd, and sets the white-space
// attributes. Once, over the finished table.
void find_special_tokens(Vocabulary& vocabulary, std::string_view model_name,
                         std::string_view architecture);

// A stretch of a text: raw (id -1) or one token.
struct Fragment {
  int64_t begin = 0, end = 0;  // bytes
  int32_t id = -1;
};

// Cuts texts at the tokens that are matched as they are: longest token first over the whole text,
// so that a long one wins over a shorter one that starts earlier; equal lengths by lower id, one
// token's places from left to right.
class SpecialMatcher {
 public:
  explicit SpecialMatcher(const Vocabulary& vocabulary);

  // Control and unknown tokens only with parse_special, and only in bytes that are not `outside`
  // (ascending ranges).
  std::vector<Fragment> partition(std::string_view text, bool parse_special,
                                  const std::vector<TextRange>& outside) const;

 private:
  struct Candidate {
    std::string_view text;  // in the vocabulary's arena
    int32_t id;
    int32_t order;  // place in the list sorted by length, then id
    bool plain;     // user-defined: matched in any text
    bool outside;   // may be made of outside bytes
  };
  // The longest usable candidate at `at` whose order is above `after`; null if none.
  const Candidate* match(std::string_view text, size_t at, int32_t after, bool parse_special,
                         const MarkedText* marks) const;

  const Vocabulary& vocabulary_;
  std::vector<Candidate> candidates_;  // sorted by text
  std::vector<int32_t> by_order_;      // order -> index in candidates_
  std::vector<uint32_t>
      first_;  // first byte -> where its candidates begin in candidates_ (257 entries)
};

}  // namespace etch
