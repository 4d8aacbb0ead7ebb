#include "lower/constants.h"

#include <cstring>
#include <functional>
#include <string_view>

namespace etch {

Place Constants::add(std::span<const uint8_t> data) {
  const std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
  const size_t hash = std::hash<std::string_view>{}(text);
  const auto [first, last] = places_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const int64_t offset = it->second.offset;
    if (lengths_[offset] == static_cast<int64_t>(data.size()) &&
        std::memcmp(bytes_.data() + offset, data.data(), data.size()) == 0)
      return it->second;
  }
  const Place place = {Space::constants, align_up(static_cast<int64_t>(bytes_.size())), -1};
  bytes_.resize(static_cast<size_t>(place.offset));
  bytes_.insert(bytes_.end(), data.begin(), data.end());
  places_.emplace(hash, place);
  lengths_[place.offset] = static_cast<int64_t>(data.size());
  return place;
}

}  // namespace etch
