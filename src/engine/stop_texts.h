// Texts that end an answer. What might be the beginning of one is held back until it is clear.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace etch {

class StopTexts {
 public:
  explicit StopTexts(std::vector<std::string> texts);  // empty ones are dropped
  std::string push(std::string_view piece);            // what can be shown now
  std::string finish();                                // what was held back for nothing
  bool found() const { return found_; }

 private:
  std::vector<std::string> texts_;
  std::string held_;
  bool found_ = false;
};

}  // namespace etch
