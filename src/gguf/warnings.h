// What is odd but readable in a file: one line a kind, since a file may have a million oddities of
// one kind.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace etch {

class Warnings {
 public:
  void add(std::string_view kind, std::string_view example);
  std::vector<std::string> lines() const;  // "KIND: EXAMPLE", "KIND: EXAMPLE and 3 more"

 private:
  struct Entry {
    std::string kind, first;
    int64_t count;
  };
  std::vector<Entry> entries_;
};

}  // namespace etch
