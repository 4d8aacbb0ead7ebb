#include "lower/uses.h"

#include <fmt/core.h>

#include <algorithm>

namespace etch {

Uses::Uses(const Draft& draft) : readers_(draft.slots.size()), writers_(draft.slots.size()) {
  for (size_t i = 0; i < draft.calls.size(); ++i) {
    DraftCall call = draft.calls[i];
    if (call.dead) continue;
    find_accesses(draft, call);
    const auto note = [&](const std::vector<Access>& accesses,
                          std::vector<std::vector<int32_t>>& of) {
      for (const Access& a : accesses) {
        if (a.state >= 0) continue;
        auto& list = of[static_cast<size_t>(a.place.buffer)];
        if (list.empty() || list.back() != static_cast<int32_t>(i))
          list.push_back(static_cast<int32_t>(i));
      }
    };
    note(call.reads, readers_);
    note(call.writes, writers_);
  }
}

DraftCall* Uses::sole_writer(Draft& draft, int32_t slot) const {
  if (slot < 0) return nullptr;
  const auto& writers = writers_[static_cast<size_t>(slot)];
  if (writers.size() != 1) return nullptr;
  DraftCall& call = draft.calls[static_cast<size_t>(writers[0])];
  return call.dead ? nullptr : &call;
}

DraftCall* Uses::maker_for(Draft& draft, const Place& place, const DraftCall& reader) const {
  if (place.buffer < 0 || !is_per_list(draft.slot(place.buffer).space)) return nullptr;
  const auto& readers = readers_[static_cast<size_t>(place.buffer)];
  if (readers.size() != 1 || &draft.calls[static_cast<size_t>(readers[0])] != &reader)
    return nullptr;
  return sole_writer(draft, place.buffer);
}

std::optional<int64_t> stride_as_rows(const DraftCall& call, std::string_view field, etch_rows rows,
                                      int64_t n) {
  if (call.i32("rows_of") != rows.of) return std::nullopt;
  const auto size = [&](int i) { return call.i64(fmt::format("sizes[{}]", i)); };
  const auto stride = [&](int i) { return call.i64(fmt::format("{}_strides[{}]", field, i)); };
  const bool has_rows = rows.of != ETCH_ONCE;
  if (has_rows && size(0) != 1) return std::nullopt;
  // The innermost axis: whole rows of n, all tight; or one row.
  int64_t elements = 1;
  for (int i = has_rows ? 1 : 0; i < 4; ++i) elements *= size(i);
  if (elements != rows.per * n) return std::nullopt;
  const int64_t last = size(3);
  if (last > 1 && stride(3) != 4) return std::nullopt;
  if (last % n != 0) return std::nullopt;
  int64_t distance = 4 * n, count = last / n;  // of rows seen so far
  for (int i = 2; i >= (has_rows ? 1 : 0); --i) {
    if (size(i) == 1) continue;
    if (count == 1)
      distance = stride(i);
    else if (stride(i) != distance * count)
      return std::nullopt;
    count *= size(i);
  }
  if (!has_rows) return distance;
  if (rows.per == 1) return stride(0);
  return stride(0) == distance * rows.per ? std::optional(distance) : std::nullopt;
}

bool is_elementwise(const DraftCall& call, int32_t op) {
  return call.kind == ArgsKind::elementwise && call.i32("op") == op;
}

std::optional<int32_t> activation_of(const DraftCall& call) {
  if (call.kind != ArgsKind::elementwise) return std::nullopt;
  switch (call.i32("op")) {
    case ETCH_EW_SILU:
      return ETCH_ACT_SILU;
    case ETCH_EW_GELU:
      return ETCH_ACT_GELU;
    case ETCH_EW_GELU_TANH:
      return ETCH_ACT_GELU_TANH;
    case ETCH_EW_RELU:
      return ETCH_ACT_RELU;
    default:
      return std::nullopt;
  }
}

void move_to(DraftCall& earlier, DraftCall& later) {
  const std::string what = later.origin.what;
  CallOrigin origin = earlier.origin;
  origin.node = later.origin.node;
  origin.what = what + " <- " + origin.what;
  later = earlier;
  later.origin = std::move(origin);
  earlier.dead = true;
}

}  // namespace etch
