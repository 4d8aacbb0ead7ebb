#include "text/grammar/matcher.h"

#include <algorithm>

#include "base/check.h"

namespace etch {

namespace {

constexpr size_t kMaxKnownMasks = 256;  // 8 MB of a vocabulary of 260,000
constexpr int64_t kMaxRows = 50'000, kMaxItems = 2'000'000;

}  // namespace

Matcher::Matcher(std::shared_ptr<TokenMasks> masks)
    : masks_(std::move(masks)), table_(masks_->automaton()), places_{table_.start()} {}

Matcher::Matcher(const Matcher& other) = default;

void Matcher::reset() { places_.resize(1); }

void Matcher::rollback(int64_t n) {
  ETCH_CHECK(n >= 0 && n <= n_accepted(), "{} of {} tokens", n, n_accepted());
  places_.resize(places_.size() - static_cast<size_t>(n));
}

void Matcher::forget_rows() {
  if (table_.n_rows() < kMaxRows && table_.n_items() < kMaxItems) return;
  table_.shrink(places_);
  known_masks_.clear();
}

Result<std::span<const uint64_t>> Matcher::mask() {
  const auto known = known_masks_.find(places_.back());
  if (known != known_masks_.end()) {
    current_ = known->second;
    return std::span<const uint64_t>(*current_);
  }
  forget_rows();
  if (known_masks_.size() >= kMaxKnownMasks) known_masks_.clear();
  current_ = std::make_shared<TokenBits>();
  ETCH_TRY(masks_->fill(table_, places_.back(), *current_));
  known_masks_[places_.back()] = current_;
  return std::span<const uint64_t>(*current_);
}

Result<RowId> Matcher::place_after(int32_t id) {
  const RowId place = places_.back();
  const GrammarVocabulary& v = masks_->vocabulary();
  if (id < 0 || id >= v.size()) return kDeadRow;
  RowId by_bytes = v.text(id).empty() ? kDeadRow : place;
  for (const char c : v.text(id)) {
    by_bytes = table_.step(by_bytes, static_cast<uint8_t>(c));
    if (by_bytes == kDeadRow) break;
  }
  std::vector<RowItem> by_name;
  for (const RowItem item : table_.items(place)) {
    for (const auto& edge : masks_->automaton().tokens_of(item.state)) {
      const auto& [named, negated] = masks_->named_token(edge.token);
      if (negated ? named == id || v.text(id).empty() : named != id) continue;
      by_name.push_back({edge.to, item.origin == RowItem::kOwn ? place : item.origin});
    }
  }
  RowId row = by_bytes;
  if (!by_name.empty()) {
    const auto more = table_.items(by_bytes);
    by_name.insert(by_name.end(), more.begin(), more.end());
    row = table_.row_of(std::move(by_name));
  }
  if (table_.has_overflowed()) {
    auto error = ambiguous();
    return tl::unexpected(std::move(error).error());
  }
  return row;
}

Status Matcher::accept(int32_t id) {
  forget_rows();
  const auto& ends = masks_->vocabulary().ends();
  if (std::find(ends.begin(), ends.end(), id) != ends.end()) {
    const bool is_named = [&] {
      for (const RowItem item : table_.items(places_.back())) {
        for (const auto& edge : masks_->automaton().tokens_of(item.state)) {
          if (masks_->named_token(edge.token) == std::pair(id, false)) return true;
        }
      }
      return false;
    }();
    if (!is_named) {
      if (!may_end()) return fail(ErrorKind::usage, "the text may not end here: token {}", id);
      places_.push_back(kDeadRow);
      return {};
    }
  }
  const RowId row = ETCH_TRY(place_after(id));
  if (row == kDeadRow)
    return fail(ErrorKind::usage, "the grammar does not allow token {} here", id);
  places_.push_back(row);
  return {};
}

TextMatcher::TextMatcher(const Automaton& automaton) : table_(automaton), place_(table_.start()) {}

Result<int64_t> TextMatcher::push(std::string_view bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (table_.n_rows() > kMaxRows || table_.n_items() > kMaxItems)
      table_.shrink(std::span(&place_, 1));
    const RowId next = table_.step(place_, static_cast<uint8_t>(bytes[i]));
    if (table_.has_overflowed()) {
      auto error = ambiguous();
      return tl::unexpected(std::move(error).error());
    }
    if (next == kDeadRow) return static_cast<int64_t>(i);
    place_ = next;
  }
  return std::ssize(bytes);
}

std::bitset<256> TextMatcher::next_bytes() {
  std::bitset<256> next;
  for (const RowItem item : table_.items(place_)) {
    for (const auto& edge : table_.automaton().bytes_of(item.state)) {
      for (int b = edge.low; b <= edge.high; ++b) next.set(static_cast<size_t>(b));
    }
  }
  return next;
}

std::string TextMatcher::describe_next() {
  const std::bitset<256> next = next_bytes();
  const auto shown = [](size_t b) {
    if (b == '\n') return std::string("\\n");
    if (b == '\r') return std::string("\\r");
    if (b == '\t') return std::string("\\t");
    if (b < 0x20 || b == 0x7F) return fmt::format("\\x{:02x}", b);
    return std::string(1, static_cast<char>(b));
  };
  std::string text;
  const auto add = [&](const std::string& what) {
    if (!text.empty()) text += ' ';
    text += what;
  };
  for (size_t b = 0; b < 0x80;) {
    if (!next[b]) {
      ++b;
      continue;
    }
    size_t last = b;
    while (last + 1 < 0x80 && next[last + 1]) ++last;
    if (last - b < 2) {
      for (; b <= last; ++b) add("'" + shown(b) + "'");
    } else {
      add("'" + shown(b) + "'-'" + shown(last) + "'");
    }
    b = last + 1;
  }
  if ((next >> 0x80).any()) {
    bool inside = true;  // a character has begun: what follows are its further bytes
    for (size_t b = 0xC0; b < 256; ++b) inside &= !next[b];
    add(inside ? "the rest of a character" : "characters beyond ASCII");
  }
  for (const RowItem item : table_.items(place_)) {
    for (const auto& edge : table_.automaton().tokens_of(item.state)) {
      const auto& t = table_.automaton().tokens[static_cast<size_t>(edge.token)];
      add("token " + std::string(t.negated ? "other than " : "") +
          (t.text.empty() ? fmt::format("<[{}]>", t.id) : t.text));
    }
  }
  if (may_end()) add("the end");
  return text.empty() ? "nothing" : text;
}

}  // namespace etch
