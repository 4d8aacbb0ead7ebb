#include "text/grammar/token_trie.h"

#include <algorithm>

namespace etch {

TokenTrie::TokenTrie(std::vector<std::pair<std::string_view, int32_t>> texts) {
  std::sort(texts.begin(), texts.end());
  std::vector<int32_t> path;  // nodes of the text before
  std::string_view before;
  const auto close_down_to = [&](size_t n) {
    for (; path.size() > n; path.pop_back())
      skip[static_cast<size_t>(path.back())] = static_cast<int32_t>(bytes.size());
  };
  for (const auto& [text, id] : texts) {
    if (text.empty()) continue;
    size_t common = 0;
    while (common < text.size() && common < before.size() && text[common] == before[common])
      ++common;
    close_down_to(common);
    for (size_t i = common; i < text.size(); ++i) {
      path.push_back(static_cast<int32_t>(bytes.size()));
      bytes.push_back(static_cast<uint8_t>(text[i]));
      depth.push_back(static_cast<int32_t>(i + 1));
      skip.push_back(0);
      first_token.push_back(static_cast<uint32_t>(tokens.size()));
    }
    tokens.push_back(id);  // sorted: nothing comes between texts that are equal
    max_depth = std::max(max_depth, static_cast<int32_t>(text.size()));
    before = text;
  }
  close_down_to(0);
  first_token.push_back(static_cast<uint32_t>(tokens.size()));
}

}  // namespace etch
