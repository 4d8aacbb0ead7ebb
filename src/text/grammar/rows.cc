#include "text/grammar/rows.h"

#include <algorithm>

#include "text/text_hash.h"

namespace etch {

namespace {

constexpr size_t kFewItems = 24;  // up to here looking through them is faster than hashing

uint64_t key_of(RowItem item) {
  return uint64_t{static_cast<uint32_t>(item.state)} << 32 | static_cast<uint32_t>(item.origin);
}

uint64_t mixed(uint64_t key) {
  key *= 0x9E3779B97F4A7C15u;
  return key ^ (key >> 29);
}

constexpr uint64_t kFree = ~uint64_t{0};

}  // namespace

RowTable::RowTable(const Automaton& automaton)
    : automaton_(&automaton), n_classes_(static_cast<size_t>(automaton.n_classes())) {
  work_.clear();
  intern();  // the dead row
  std::fill(next_.begin(), next_.end(), kDeadRow);
}

void RowTable::add(RowItem item) {
  if (std::ssize(work_) >= kMaxRowItems) {
    has_overflowed_ = true;
    return;
  }
  if (work_.size() < kFewItems) {
    if (std::find(work_.begin(), work_.end(), item) == work_.end()) work_.push_back(item);
    return;
  }
  if (work_.size() * 2 >= seen_.size()) {  // never more than half full
    size_t capacity = 128;
    while (capacity < work_.size() * 4) capacity *= 2;
    seen_.assign(capacity, kFree);
    for (const RowItem& known : work_) {
      size_t i = mixed(key_of(known)) & (capacity - 1);
      while (seen_[i] != kFree) i = (i + 1) & (capacity - 1);
      seen_[i] = key_of(known);
    }
  }
  const uint64_t key = key_of(item);
  size_t i = mixed(key) & (seen_.size() - 1);
  while (seen_[i] != kFree) {
    if (seen_[i] == key) return;
    i = (i + 1) & (seen_.size() - 1);
  }
  seen_[i] = key;
  work_.push_back(item);
}

// What follows without reading: the rules that items call begin here; where a rule has ended, its
// callers go on. A rule that began in this very row has matched nothing, and that its callers may
// go on then is in their edges already (build_automaton).
void RowTable::close() {
  const Automaton& a = *automaton_;
  for (size_t i = 0; i < work_.size(); ++i) {
    const RowItem item = work_[i];
    for (const auto& call : a.calls_of(item.state))
      add({a.rules[static_cast<size_t>(call.rule)].start, RowItem::kOwn});
    const Automaton::State& state = a.states[static_cast<size_t>(item.state)];
    if (!state.final) continue;
    if (item.origin == RowItem::kAnywhere) {
      for (const int32_t to : a.followers[static_cast<size_t>(state.rule)])
        add({to, RowItem::kAnywhere});
    }
    if (item.origin < 0) continue;
    const Row origin = rows_[static_cast<size_t>(item.origin)];
    for (int64_t k = origin.first; k < origin.first + origin.count; ++k) {
      const RowItem caller = items_[static_cast<size_t>(k)];
      for (const auto& call : a.calls_of(caller.state)) {
        if (call.rule == state.rule)
          add({call.to, caller.origin == RowItem::kOwn ? item.origin : caller.origin});
      }
    }
  }
  seen_.clear();
}

RowId RowTable::intern() {
  std::sort(work_.begin(), work_.end());
  const uint64_t hash =
      text_hash({reinterpret_cast<const char*>(work_.data()), work_.size() * sizeof(RowItem)});
  const auto [first, last] = by_content_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const auto known = items(it->second);
    if (std::equal(known.begin(), known.end(), work_.begin(), work_.end())) return it->second;
  }
  const auto id = static_cast<RowId>(rows_.size());
  Row row{.first = std::ssize(items_), .count = static_cast<int32_t>(work_.size())};
  for (const RowItem item : work_) {
    const bool final = automaton_->states[static_cast<size_t>(item.state)].final;
    row.may_end |= final && item.origin == RowItem::kRoot;
    row.ends_unknown |= final && item.origin == RowItem::kUnknown;
    row.can_go_on |=
        !automaton_->bytes_of(item.state).empty() || !automaton_->tokens_of(item.state).empty();
  }
  items_.insert(items_.end(), work_.begin(), work_.end());
  rows_.push_back(row);
  next_.resize(next_.size() + n_classes_, -1);
  by_content_.emplace(hash, id);
  return id;
}

RowId RowTable::row_of(std::vector<RowItem> items) {
  work_.clear();
  for (const RowItem item : items) add(item);
  close();
  return intern();
}

RowId RowTable::start() {
  // The root may match nothing and then call nothing: its start alone says so.
  return row_of({{automaton_->rules[static_cast<size_t>(automaton_->root)].start, RowItem::kRoot}});
}

RowId RowTable::after_rule(int32_t rule, RowId origin) {
  if (origin < 0) return kDeadRow;
  const uint64_t key = uint64_t{static_cast<uint32_t>(rule)} << 32 | static_cast<uint32_t>(origin);
  const auto known = after_rule_.find(key);
  if (known != after_rule_.end()) return known->second;
  std::vector<RowItem> behind;
  for (const RowItem caller : items(origin)) {
    for (const auto& call : automaton_->calls_of(caller.state)) {
      if (call.rule == rule)
        behind.push_back({call.to, caller.origin == RowItem::kOwn ? origin : caller.origin});
    }
  }
  const RowId row = row_of(std::move(behind));
  after_rule_[key] = row;
  return row;
}

RowId RowTable::make_step(RowId row, uint8_t byte) {
  work_.clear();
  const Row from = rows_[static_cast<size_t>(row)];
  for (int64_t k = from.first; k < from.first + from.count; ++k) {
    const RowItem item = items_[static_cast<size_t>(k)];
    for (const auto& edge : automaton_->bytes_of(item.state)) {
      if (edge.low <= byte && byte <= edge.high)
        add({edge.to, item.origin == RowItem::kOwn ? row : item.origin});
    }
  }
  close();
  if (has_overflowed_) return kDeadRow;
  const RowId to = intern();
  next_[static_cast<size_t>(row) * n_classes_ + automaton_->class_of[byte]] = to;
  return to;
}

void RowTable::shrink(std::span<RowId> live) {
  std::vector<char> wanted(rows_.size());
  std::vector<RowId> open;
  const auto want = [&](RowId row) {
    if (row < 0 || wanted[static_cast<size_t>(row)]) return;
    wanted[static_cast<size_t>(row)] = 1;
    open.push_back(row);
  };
  want(kDeadRow);
  for (const RowId row : live) want(row);
  while (!open.empty()) {
    const RowId row = open.back();
    open.pop_back();
    for (const RowItem item : items(row)) want(item.origin);
  }
  // Origins are older than the rows they stand in, so that numbers are known when they are needed.
  RowTable kept(*automaton_);
  std::vector<RowId> number(rows_.size(), kDeadRow);
  for (size_t i = 1; i < rows_.size(); ++i) {
    if (!wanted[i]) continue;
    kept.work_.clear();
    for (RowItem item : items(static_cast<RowId>(i))) {
      if (item.origin >= 0) item.origin = number[static_cast<size_t>(item.origin)];
      kept.work_.push_back(item);
    }
    number[i] = kept.intern();
  }
  for (RowId& row : live) row = number[static_cast<size_t>(row)];
  kept.has_overflowed_ = has_overflowed_;
  *this = std::move(kept);
}

}  // namespace etch
