// fold(): layers of a list that make the same calls become one kind, and what differs between them
// (file offsets, constants, states) becomes columns of a table with a row for every layer.
//
//   calls   | -1 | 0 0 0 | 1 1 1 | 2 2 2 | -1 |        a segment: neighbours of one layer
//   kinds          A       A       B                   A and B each become a function
//   table   row 0: attn_q = 33806656, ...
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "code/names.h"
#include "lowered/lowered.h"

namespace etch {

struct Segment {
  int32_t layer = -1;
  int32_t row = -1;             // of the table; -1 outside layers
  int32_t kind = -1;            // index into FoldedList::kinds
  int32_t first = 0, last = 0;  // calls first .. last - 1
};

// Something in a call that differs from layer to layer: argument `arg` of call `call` of the
// segment. Arguments past the fields of the call are those of the matrix that is fetched ahead.
constexpr int32_t kMostLoops = 4;  // over layers, before a column tells their kinds

enum NextField { kNextWeight, kNextGate, kNextRows, kNextRowBytes, kNextFields };
struct OpenArg {
  int32_t call = 0, arg = 0;
  auto operator<=>(const OpenArg&) const = default;
};

struct LayerFunction {
  std::string name;           // "decode_layer"
  Segment model;              // the segment it is printed from
  std::vector<int32_t> rows;  // of the table
  std::map<OpenArg, int32_t> columns;
};

struct FoldedList {
  const CallList* source = nullptr;
  std::string name;  // "decode"
  std::vector<Segment> segments;
  std::vector<LayerFunction> kinds;
  int32_t row_count = 0;
  int32_t kind_column = -1;  // where kinds alternate: which column tells them apart
};

struct Column {
  std::string name;
  bool is_number = false;  // int32_t, otherwise an offset
  bool is_row = false;     // every value is the number of its row: no column is needed
  std::vector<int64_t> values;
  std::vector<bool> set;
};

struct Folded {
  FoldedList decode, prefill;
  std::vector<int32_t> layers;  // of each row
  std::vector<Column> columns;
};

// Fails if the two lists do not go through the same layers in the same order.
Result<Folded> fold(const Lowered& lowered, const Names& names);

// The call whose matrix is fetched ahead by `call`; -1: none.
int32_t next_of(const Call& call);

}  // namespace etch
