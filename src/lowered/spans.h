// The bytes of an access, spelled out: what the checks compare.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "lowered/lowered.h"

namespace etch {

struct Span {
  int64_t begin = 0, end = 0;
};

// Calls f(Span) for every contiguous piece of an access; stops and returns false when f does.
template <class F>
bool each_span(const Access& access, F&& f) {
  const int64_t begin = access.place.offset, end = begin + access.bytes;
  if (access.stride == 0 || access.piece >= access.stride) return f(Span{begin, end});
  for (int64_t at = begin; at < end; at += access.stride)
    if (!f(Span{at, std::min(at + access.piece, end)})) return false;
  return true;
}

// Bytes coloured by a number; what was coloured last counts.
class Coloured {
 public:
  void paint(Span s, int32_t colour) {
    if (s.begin >= s.end) return;
    split_at(s.begin);
    split_at(s.end);
    spans_.erase(spans_.lower_bound(s.begin), spans_.lower_bound(s.end));
    spans_[s.begin] = {s.end, colour};
  }

  // The first byte of s whose colour is not `colour`, if there is one.
  std::optional<int64_t> first_other(Span s, int32_t colour) const {
    int64_t at = s.begin;
    auto it = spans_.upper_bound(at);
    if (it != spans_.begin()) --it;
    for (; at < s.end && it != spans_.end(); ++it) {
      if (it->second.end <= at) continue;
      if (it->first > at || it->second.colour != colour) return at;
      at = it->second.end;
    }
    return at < s.end ? std::optional(at) : std::nullopt;
  }

  // The colour of a byte, if it has one.
  std::optional<int32_t> colour_at(int64_t at) const {
    auto it = spans_.upper_bound(at);
    if (it == spans_.begin()) return std::nullopt;
    --it;
    return at < it->second.end ? std::optional(it->second.colour) : std::nullopt;
  }

 private:
  struct Piece {
    int64_t end;
    int32_t colour;
  };
  void split_at(int64_t at) {
    auto it = spans_.upper_bound(at);
    if (it == spans_.begin()) return;
    --it;
    if (it->first == at || it->second.end <= at) return;
    spans_[at] = it->second;
    it->second.end = at;
  }
  std::map<int64_t, Piece> spans_;  // by first byte
};

}  // namespace etch
