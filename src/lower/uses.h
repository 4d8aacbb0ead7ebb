// Who writes and reads the slots of a draft, and how an elementwise call goes over its operands:
// what fusing passes ask.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "lower/draft.h"

namespace etch {

class Uses {
 public:
  explicit Uses(const Draft& draft);

  // The only live writer of a slot that is nobody's but this list's and is read by one call alone;
  // null where there is another story.
  DraftCall* maker_for(Draft& draft, const Place& place, const DraftCall& reader) const;
  // The only live writer, however many readers.
  DraftCall* sole_writer(Draft& draft, int32_t slot) const;
  const std::vector<int32_t>& readers(int32_t slot) const {
    return readers_[static_cast<size_t>(slot)];
  }

 private:
  std::vector<std::vector<int32_t>> readers_, writers_;  // calls by slot
};

// The elements of an elementwise call's operand seen as rows of n elements: the distance between
// rows, 0 where one row is used for all; nothing where it cannot be seen so.
std::optional<int64_t> stride_as_rows(const DraftCall& elementwise, std::string_view field,
                                      etch_rows rows, int64_t n);

bool is_elementwise(const DraftCall& call, int32_t op);
// ETCH_ACT_* of an elementwise activation; nothing for others.
std::optional<int32_t> activation_of(const DraftCall& call);

// `later` becomes `earlier` with what the caller changed: the fused call stands where the later one
// stood, because it may read what came between them.
void move_to(DraftCall& earlier, DraftCall& later);

}  // namespace etch
