#include "engine/stop_texts.h"

#include <algorithm>
#include <utility>

namespace etch {

StopTexts::StopTexts(std::vector<std::string> texts) : texts_(std::move(texts)) {
  std::erase(texts_, "");
}

std::string StopTexts::push(std::string_view piece) {
  if (found_) return "";
  held_ += piece;
  size_t first = std::string::npos;
  for (const std::string& t : texts_) first = std::min(first, held_.find(t));
  if (first != std::string::npos) {
    found_ = true;
    return std::exchange(held_, "").substr(0, first);
  }
  // The longest end of what there is that begins one of the texts stays back.
  size_t keep = 0;
  for (const std::string& t : texts_) {
    for (size_t n = std::min(t.size() - 1, held_.size()); n > keep; --n) {
      if (held_.ends_with(std::string_view(t).substr(0, n))) keep = n;
    }
  }
  std::string shown = held_.substr(0, held_.size() - keep);
  held_.erase(0, shown.size());
  return shown;
}

std::string StopTexts::finish() { return found_ ? "" : std::exchange(held_, ""); }

}  // namespace etch
