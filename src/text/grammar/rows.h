// RowTable: where a text may stand in a grammar after each of its bytes (Earley, CACM 1970), made
// into a table that fills itself.
//
// A row is a set of items (state, origin): the rule of `state` was begun at the row `origin` and
// has come as far as `state`. Where a rule ends, the items of its origin that called it go on. Rows
// with equal items are one row, so they are known by number, a step is looked up after its first
// time, and a text in which the same thing comes again and again walks in a circle. Any
// context-free grammar, left recursion and ambiguity included, takes at most (states x rows) items
// a row.
//
//   a ::= "(" a ")" | "x"      row 1: (a0, root)    --(--> row 2: (a1, root) (a0, own)
//                              row 2: --(--> row 3: (a1, 2) (a0, own) --(--> row 4: (a1, 3) (a0,
//                              own)
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "text/grammar/automaton.h"

namespace etch {

using RowId = int32_t;
inline constexpr RowId kDeadRow = 0;  // no item: no text goes on from here

struct RowItem {
  int32_t state = 0;
  RowId origin = 0;                   // or one of:
  static constexpr RowId kOwn = -1;   // this very row
  static constexpr RowId kRoot = -2;  // the beginning of the text: where its rule ends, it may end
  static constexpr RowId kUnknown = -3;   // somewhere: that its rule ends is noted, no more
  static constexpr RowId kAnywhere = -4;  // where its rule ends, every caller of it goes on
  auto operator<=>(const RowItem&) const = default;
};

class RowTable {
 public:
  explicit RowTable(const Automaton& automaton);

  RowId start();                                 // of a text
  RowId row_of(std::vector<RowItem> items);      // and what follows from them without a byte
  RowId after_rule(int32_t rule, RowId origin);  // what goes on where a rule of that origin ends

  RowId step(RowId row, uint8_t byte) {
    const RowId known = next_[static_cast<size_t>(row) * n_classes_ + automaton_->class_of[byte]];
    return known >= 0 ? known : make_step(row, byte);
  }

  std::span<const RowItem> items(RowId row) const {
    const Row& r = rows_[static_cast<size_t>(row)];
    return {items_.data() + r.first, static_cast<size_t>(r.count)};
  }
  bool may_end(RowId row) const { return rows_[static_cast<size_t>(row)].may_end; }
  bool ends_unknown(RowId row) const { return rows_[static_cast<size_t>(row)].ends_unknown; }
  // Is there a byte or token that goes on?
  bool can_go_on(RowId row) const { return rows_[static_cast<size_t>(row)].can_go_on; }

  // Too many items in one row: steps lead to the dead row from then on, which the caller must not
  // take for an answer.
  bool has_overflowed() const { return has_overflowed_; }

  int64_t n_rows() const { return static_cast<int64_t>(rows_.size()); }
  int64_t n_items() const { return static_cast<int64_t>(items_.size()); }
  const Automaton& automaton() const { return *automaton_; }

  // Forgets all rows but those that `live` needs; gives their new numbers there.
  void shrink(std::span<RowId> live);

 private:
  struct Row {
    int64_t first = 0;
    int32_t count = 0;
    bool may_end = false, ends_unknown = false, can_go_on = false;
  };
  void add(RowItem item);
  void close();
  RowId intern();
  RowId make_step(RowId row, uint8_t byte);

  const Automaton* automaton_;
  size_t n_classes_;
  std::vector<Row> rows_;
  std::vector<RowItem> items_;
  std::vector<RowId> next_;                              // [n_rows, n_classes], -1: not known yet
  std::unordered_multimap<uint64_t, RowId> by_content_;  // hash of the items
  std::unordered_map<uint64_t, RowId> after_rule_;       // [ rule : 32 | origin : 32 ]
  std::vector<RowItem> work_;                            // the row being made
  std::vector<uint64_t> seen_;  // its items as a hash set, once there are many
  bool has_overflowed_ = false;
};

inline constexpr int64_t kMaxRowItems = 20'000;

}  // namespace etch
