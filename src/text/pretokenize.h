// Pretokenizer: cuts a text into the words that byte-pair merging never crosses, by regular
// expressions.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace etch {

// A row of pretokenizers.def.
struct PretokenizerName {
  enum Flags : unsigned {
    ignores_merges = 1,
    adds_bos = 2,
    adds_sep = 4,
    keeps_spaces = 8,
    raw = 16,
    marks_words = 32,
    whole_newlines = 64,
    no_bos = 128,
    composes = 256,
  };
  std::string_view name, group;
  unsigned flags = 0;
  bool has(Flags flag) const { return (flags & flag) != 0; }
};
// Null for a name etch does not know.
const PretokenizerName* find_pretokenizer(std::string_view name);

class Pretokenizer {
 public:
  ~Pretokenizer();
  // The words of `text` (valid UTF-8), as their ends: word i is bytes ends[i-1] to ends[i], the
  // first begins at 0.
  Status split(std::string_view text, std::vector<uint32_t>& ends) const;

 private:
  friend Result<std::unique_ptr<Pretokenizer>> make_pretokenizer(std::string_view group);
  struct Step;
  Pretokenizer();
  std::vector<Step> steps_;
};

// The steps of a group of pretokenizers.def, compiled.
Result<std::unique_ptr<Pretokenizer>> make_pretokenizer(std::string_view group);

}  // namespace etch
