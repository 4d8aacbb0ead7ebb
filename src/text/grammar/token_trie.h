// TokenTrie: texts with the tokens that write them, as a tree of their bytes in one flat list. A
// node's children stand behind it, depth first; `skip` jumps over them.
//
//   "a" 5, "ab" 7, "b" 9   ->   byte  a  b  b
//                               depth 1  2  1
//                               skip  2  2  3     (index behind the subtree)
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace etch {

class TokenTrie {
 public:
  TokenTrie() = default;
  // Texts that are empty are left out; several tokens may have the same text.
  explicit TokenTrie(std::vector<std::pair<std::string_view, int32_t>> texts);

  int64_t size() const { return static_cast<int64_t>(bytes.size()); }
  std::span<const int32_t> tokens_of(int64_t node) const {
    const auto i = static_cast<size_t>(node);
    return std::span(tokens).subspan(first_token[i], first_token[i + 1] - first_token[i]);
  }

  std::vector<uint8_t> bytes;
  std::vector<int32_t> depth;
  std::vector<int32_t> skip;
  std::vector<uint32_t> first_token;  // [size + 1]
  std::vector<int32_t> tokens;
  int32_t max_depth = 0;
};

}  // namespace etch
