// Columns of quantised activations, whichever layout they have (kernels/activations.h): the codes k
// .. k + 3 are a dword at codes + k / 4 * quad_stride, group g stands at groups + g * group_stride.
#pragma once

#include "kernels/activations.h"
#include "kernels/ops/rows.h"

namespace etch::ETCH_ISA {

using activations::Group256;
using activations::Group32;

template <class Group>
struct Column {
  const int8_t* codes;
  const Group* groups;
  int64_t quad_stride;
  int64_t group_stride;
};

// Elements that share a Group.
template <class Group>
constexpr int64_t kGroupElements = sizeof(Group) == sizeof(Group32) ? 32 : 256;

template <class Group>
ETCH_WORD int64_t padded_bytes(int64_t d, int64_t columns) {
  const int64_t bytes =
      columns * (d + d / kGroupElements<Group> * static_cast<int64_t>(sizeof(Group)));
  return (bytes + activations::kPadding - 1) / activations::kPadding * activations::kPadding;
}

// A row that starts at `row`.
template <class Group>
ETCH_WORD Column<Group> row_column(const uint8_t* row, int64_t d) {
  return {reinterpret_cast<const int8_t*>(row), reinterpret_cast<const Group*>(row + d), 4, 1};
}

// Column c of the packed blocks that start at `packed`.
template <class Group>
ETCH_WORD Column<Group> packed_column(const uint8_t* packed, int64_t d, int64_t c) {
  constexpr int64_t kColumns = ETCH_PANEL_COLUMNS;
  const uint8_t* const block = packed + c / kColumns * padded_bytes<Group>(d, kColumns);
  return {reinterpret_cast<const int8_t*>(block) + c % kColumns * 4,
          reinterpret_cast<const Group*>(block + kColumns * d) + c % kColumns, kColumns * 4,
          kColumns};
}

}  // namespace etch::ETCH_ISA
