#include "text/marked_text.h"

#include <algorithm>

namespace etch {

MarkedText MarkedText::from_outside(std::string_view text) {
  MarkedText marked;
  marked.append(text, true);
  return marked;
}

void MarkedText::append(std::string_view piece, bool is_outside) {
  if (piece.empty()) return;
  const int64_t begin = static_cast<int64_t>(text.size());
  text.append(piece);
  if (!is_outside) return;
  const int64_t end = static_cast<int64_t>(text.size());
  if (!outside.empty() && outside.back().end == begin) {
    outside.back().end = end;
  } else {
    outside.push_back({begin, end});
  }
}

void MarkedText::append(const MarkedText& piece) {
  const int64_t base = static_cast<int64_t>(text.size());
  text.append(piece.text);
  for (const TextRange& r : piece.outside) {
    if (!outside.empty() && outside.back().end == base + r.begin) {
      outside.back().end = base + r.end;
    } else {
      outside.push_back({base + r.begin, base + r.end});
    }
  }
}

MarkedText MarkedText::slice(int64_t begin, int64_t end) const {
  const int64_t size = static_cast<int64_t>(text.size());
  begin = std::clamp<int64_t>(begin, 0, size);
  end = std::clamp<int64_t>(end, begin, size);
  MarkedText part;
  part.text = text.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  auto first = std::upper_bound(outside.begin(), outside.end(), begin,
                                [](int64_t at, const TextRange& r) { return at < r.end; });
  for (; first != outside.end() && first->begin < end; ++first) {
    part.outside.push_back(
        {std::max(first->begin, begin) - begin, std::min(first->end, end) - begin});
  }
  return part;
}

bool MarkedText::is_outside(int64_t begin, int64_t end) const {
  auto first = std::upper_bound(outside.begin(), outside.end(), begin,
                                [](int64_t at, const TextRange& r) { return at < r.end; });
  return first != outside.end() && first->begin < end;
}

}  // namespace etch
